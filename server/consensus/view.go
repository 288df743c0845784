package consensus

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// View is linearizable: it holds every change that was acknowledged before the call.
//
// The leader acknowledges a change only after it is in its state, so a view only needs proof that no other server leads.
// A sole voter needs no messages for it, even while it cannot write; several voters are asked once for all waiting reads.
func (n *Node) View(ctx context.Context) (*raftfsm.View, error) {
	release, err := n.AcquireCall()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := n.CheckLeader(ctx); err != nil {
		return nil, err
	}
	return n.state.View(), nil
}

// CheckLeader returns nil when no other server leads: this server's state has every acknowledged change then.
func (n *Node) CheckLeader(ctx context.Context) error {
	if n.terms.hasLed() && n.IsSoleVoter() {
		return nil
	}
	if _, err := n.RequireLeader(); err != nil {
		return err
	}
	verdict, err := n.leaderChecks.Do(ctx, struct{}{})
	if err != nil { // a question records nothing, so its outcome is not unknown
		return fmt.Errorf("%w (%w)", spec.ErrBusy, context.Cause(ctx))
	}
	return verdict
}

// IsSoleVoter reports whether this server is the only voter.
func (n *Node) IsSoleVoter() bool {
	voters, mine := 0, false
	for _, server := range n.raft.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			voters++
			mine = mine || server.ID == raft.ServerID(n.cfg.HostID)
		}
	}
	return voters == 1 && mine
}
