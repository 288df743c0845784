package membership

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/watch"
	"pinion/server/rpc"
)

// roleInterval is the interval at which a host compares its role with the desired one.
const roleInterval = time.Second

// RoleFollower reconciles this host's role, server or agent, with the one that the pool desires.
type RoleFollower struct {
	HostID string // of this host
	Pool   *PoolFollower
	Peers  *rpc.Client // reaches servers alone
	Host   RoleHost
	Log    *slog.Logger

	desired atomic.Pointer[bool] // whether the pool wants a server here, as a session last said
	changed watch.Signal         // wakes Run
}

// RoleHost makes its host a server or an agent.
type RoleHost interface {
	// LocalServer is the server here, nil while this host is an agent.
	LocalServer() LocalServer
	// StartServer makes this host a server, unless it is one.
	StartServer()
	// StopServer makes this host an agent, and removes the log of the server, which it was.
	StopServer(LocalServer)
	// Fail ends the process.
	Fail(err error)
}

// LocalServer is the server on a host.
type LocalServer interface {
	Servers() *Servers
	Publisher() *Publisher
	Leader() (address string, self bool)
	// MaintainKeys fetches the keys that this server lacks, and removes those that it may not keep.
	MaintainKeys(ctx context.Context)
	// ServesAgentHere reports whether the agent of this host is connected to this server, and to no other one.
	ServesAgentHere() bool
}

// SetDesired takes in whether the pool wants a server here, as a session says.
func (f *RoleFollower) SetDesired(server bool) {
	f.desired.Store(&server)
	f.changed.Notify()
}

// ForgetDesired forgets what a session has said: this host has become an agent.
func (f *RoleFollower) ForgetDesired() { f.desired.Store(nil) }

// Run reconciles this host's role until ctx ends. The host becomes a server as soon as a session says so, because an empty Raft
// node outside the configuration is harmless. It becomes an agent, and deletes its log, only when the leader itself confirms
// that it is neither desired nor in Raft's configuration, so a vote that still counts is never lost.
func (f *RoleFollower) Run(ctx context.Context) {
	tick := tick.New(roleInterval)
	defer tick.Stop()
	for {
		wake := f.changed.Wait()
		f.ReconcileRole(ctx)
		var poolInfo <-chan struct{}
		if own := f.Host.LocalServer(); own != nil {
			poolInfo = own.Publisher().PoolInfoChanged()
		}
		select {
		case <-tick.C:
		case <-wake:
		case <-poolInfo:
		case <-ctx.Done():
			return
		}
	}
}

// ReconcileRole is one pass of Run.
func (f *RoleFollower) ReconcileRole(ctx context.Context) {
	own, told := f.Host.LocalServer(), f.desired.Load()
	if own == nil {
		if told != nil && *told && ctx.Err() == nil {
			f.Host.StartServer()
		}
		return
	}
	if leader, _ := own.Leader(); leader == "" {
		// Without a leader what this server has may be old, and its agent finds out who the servers are.
	} else if seen := own.Publisher().PoolInfo(); seen != nil {
		f.Pool.UpdatePoolInfo(*seen, true)
	}
	own.MaintainKeys(ctx)
	if f.shouldConfirm(own, told) {
		f.confirm(ctx, own)
	}
}

// shouldConfirm reports whether this host should ask the leader if it is still a server.
func (f *RoleFollower) shouldConfirm(own LocalServer, told *bool) bool {
	servers := own.Servers()
	if servers.consensus.Leads() || servers.isSoleVoter() {
		return false
	}
	self := servers.view().Host(f.HostID)
	address, _ := own.Leader()
	return address == "" || self != nil && !self.Server || told != nil && !*told && !own.ServesAgentHere()
}

// confirm asks every other server that this host knows of; the one that leads answers.
func (f *RoleFollower) confirm(ctx context.Context, own LocalServer) {
	ctx, cancel := context.WithTimeout(ctx, 2*roleInterval)
	defer cancel()
	for _, address := range f.Pool.Cache.Peers(f.Pool.Address) {
		var answer RoleReply
		err := f.Peers.Call(ctx, address, PathRole, struct{}{}, &answer)
		if spec.IsRemoved(err, f.HostID) {
			f.Host.Fail(err)
		}
		if err != nil || f.Pool.CheckServerIncarnation(answer.Incarnation) != nil {
			continue
		}
		if !answer.Server {
			f.Log.Warn("this host becomes an agent: another one is a server in its place, or the pool wants fewer of them. Its own access key may look at "+
				"its cluster from now on and change nothing beyond this host", "action", "`pinion hosts` shows the servers; work there, or with a key of `pinion keys create`")
			f.Host.StopServer(own)
		}
		return
	}
}
