package liveness

import (
	"context"

	"pinion/server/consensus"
	"pinion/server/rpc"
)

// LeaderCaller admits the calls that a server answers, and has the leader do something for it.
type LeaderCaller struct {
	Node    *consensus.Node // of the server
	Monitor *Monitor        // notes whether the leader was reached
	Alone   bool            // the server knows no other one
}

// CallLeader does something on the leader: local when this server leads, remote when another one does. It repeats that
// when no leader has answered (see rpc.LeaderTracker.Call), so both must be harmless to repeat.
func (c LeaderCaller) CallLeader(ctx context.Context, local func() error, remote func(ctx context.Context, address string) error) error {
	if c.Alone {
		if _, err := c.Node.RequireLeader(); err != nil {
			return c.Node.PreferDiskFull(err)
		}
		return local()
	}
	life := c.Node.Life()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()
	return c.Node.Tracker().Call(ctx, func(ctx context.Context, address string, _ bool) (again bool, err error) {
		if c.Node.Leads() {
			err = local()
		} else {
			err = c.callRemote(ctx, address, remote)
		}
		return rpc.Repeatable(err), err
	})
}

// BeginCall admits a call until done. The context that it returns ends with the server, which is its cause then.
func (c LeaderCaller) BeginCall(ctx context.Context) (_ context.Context, done func(), err error) {
	release, err := c.Node.AcquireCall()
	if err != nil {
		return nil, nil, err
	}
	life := c.Node.Life()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(life, func() { cancel(context.Cause(life)) })
	return ctx, func() {
		stop()
		cancel(nil)
		release()
	}, nil
}

// callRemote calls another host, and notes whether it was reached.
func (c LeaderCaller) callRemote(ctx context.Context, address string, remote func(ctx context.Context, address string) error) error {
	ctx, release := c.Node.Tracker().While(ctx, address)
	defer release()
	err := remote(ctx, address)
	if rpc.Repeatable(err) {
		c.Monitor.LeaderFailed()
	} else {
		c.Monitor.LeaderAnswered()
	}
	return err
}
