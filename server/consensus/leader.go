package consensus

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
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

// RecordLeader tells the readers of events that this node leads now.
func (n *Node) RecordLeader(ctx context.Context) {
	record := raftfsm.RecordLeader{HostID: n.cfg.HostID, Term: n.CurrentTerm(), At: n.Now().Round(0)}
	if n.state.View().MayWrite(record) != nil {
		return // an older server of the pool would not understand it
	}
	if _, err := n.Propose(ctx, record); err != nil && ctx.Err() == nil {
		n.log.Warn("cannot record the leader change: event streams will lack it", "error", err)
	}
}

// barrier returns when every entry before the call is committed and in the state.
func barrier(ctx context.Context, r *raft.Raft) error {
	reached := make(chan error, 1)
	go func() { reached <- r.Barrier(0).Error() }()
	select {
	case err := <-reached:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// servers are the servers of Raft's configuration, voters or not.
func servers(r *raft.Raft) map[raft.ServerID]raft.Server {
	servers := make(map[raft.ServerID]raft.Server)
	for _, server := range r.GetConfiguration().Configuration().Servers {
		servers[server.ID] = server
	}
	return servers
}
