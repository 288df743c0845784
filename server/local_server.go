package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/consensus"
	"pinion/server/history"
	"pinion/server/membership"
)

// localServer is the server on this host; it has none while the host is an agent. It is safe for concurrent use.
type localServer struct{ atomic.Pointer[Server] }

var errNotServer = fmt.Errorf("%w; this host is an agent and holds no state", spec.ErrNotLeader)

// get returns the server, whether it leads or not. Without one the error wraps spec.ErrNotLeader.
func (l *localServer) get() (*Server, error) {
	if own := l.Load(); own != nil {
		return own, nil
	}
	return nil, errNotServer
}

// leading returns the server if it leads and may answer. Else the error wraps spec.ErrNotLeader or spec.ErrUnavailable.
func (l *localServer) leading() (*Server, error) {
	own, err := l.get()
	if err == nil {
		_, err = own.node.RequireLeader()
	}
	return own, err
}

// local finds a part of the server here, whether it leads or not.
func local[T any](l *localServer, part func(*Server) T) func() (T, error) {
	return func() (found T, err error) {
		own, err := l.get()
		if err == nil {
			found = part(own)
		}
		return found, err
	}
}

// leading finds a part of the server here if that leads and may answer.
func leading[T any](l *localServer, part func(*Server) T) func() (T, error) {
	return func() (found T, err error) {
		own, err := l.leading()
		if err == nil {
			found = part(own)
		}
		return found, err
	}
}

// view is the state as the server has it, nil without one.
func (l *localServer) view() *raftfsm.View {
	if own := l.Load(); own != nil {
		return own.state.View()
	}
	return nil
}

// node is the Raft node of the server, nil without one.
func (l *localServer) node() *consensus.Node {
	if own := l.Load(); own != nil {
		return own.node
	}
	return nil
}

// servers are the pool's servers as the server has them, nil without one.
func (l *localServer) servers() *membership.Servers {
	if own := l.Load(); own != nil {
		return own.servers
	}
	return nil
}

// history is that of the server.
func (l *localServer) history() (*history.History, error) {
	own, err := l.get()
	if err == nil && own.history == nil {
		err = errNotServer
	}
	if err != nil {
		return nil, err
	}
	return own.history, nil
}

// linearizable is Server.View.
func (l *localServer) linearizable(ctx context.Context) (*raftfsm.View, error) {
	own, err := l.get()
	if err != nil {
		return nil, err
	}
	return own.View(ctx)
}

// clockOffset is the lead of a host's clock over the server's, zero when nobody knows.
func (l *localServer) clockOffset(hostID string) time.Duration {
	if own := l.Load(); own != nil {
		return own.liveness.ClockOffset(hostID)
	}
	return 0
}

// connected reports whether the server leads and hears of a host.
func (l *localServer) connected(hostID string) bool {
	own := l.Load()
	return own != nil && own.liveness.Connected(hostID)
}
