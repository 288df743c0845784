package server

import (
	"fmt"
	"sync/atomic"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
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

// view is the state as the server has it, nil without one.
func (l *localServer) view() *raftfsm.View {
	if own := l.Load(); own != nil {
		return own.state.View()
	}
	return nil
}
