package consensus

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
)

// Leads reports whether this node leads and may answer.
func (n *Node) Leads() bool { return n.terms.current.Load() != nil }

// RequireLeader is the context of the leader term in progress, spec.ErrNotLeader when there is none.
func (n *Node) RequireLeader() (context.Context, error) {
	if t := n.terms.current.Load(); t != nil {
		return t.ctx, nil
	}
	if address, _ := n.raft.LeaderWithID(); address != "" && string(address) != n.cfg.Address {
		return nil, fmt.Errorf("%w; the leader is %s", spec.ErrNotLeader, address)
	}
	return nil, spec.ErrNotLeader
}

// Leader is the address of the leader as far as this node knows now, empty while it knows of none, and whether it is this
// node, ready to answer.
func (n *Node) Leader() (address string, self bool) {
	if n.terms.current.Load() != nil {
		return n.cfg.Address, true
	}
	leader, id := n.raft.LeaderWithID()
	if id == raft.ServerID(n.cfg.HostID) {
		return "", false // its term has not begun
	}
	return string(leader), false
}

// Barrier returns when every entry before the call is committed and in the state.
func (n *Node) Barrier(ctx context.Context) error {
	reached := make(chan error, 1)
	go func() { reached <- n.raft.Barrier(0).Error() }()
	select {
	case err := <-reached:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Servers are the servers of Raft's configuration, voters or not.
func (n *Node) Servers() map[raft.ServerID]raft.Server { return servers(n.raft) }

func servers(r *raft.Raft) map[raft.ServerID]raft.Server {
	servers := make(map[raft.ServerID]raft.Server)
	for _, server := range r.GetConfiguration().Configuration().Servers {
		servers[server.ID] = server
	}
	return servers
}
