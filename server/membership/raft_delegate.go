package membership

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
)

// AutopilotRaft is Raft as autopilot sees it. Autopilot decides by what it saw up to some seconds ago; a server that was
// removed since must not come back by that, or the pool would count on the vote of a host that is gone for ever.
type AutopilotRaft struct {
	*raft.Raft
	Servers *Servers
}

// AddVoter gives a vote to a host that stands in Raft's configuration and is wanted as a server. Raft tells nobody the index of its
// configuration (GetConfiguration has 0), so a removal in the same moment is not noticed here: the reconciler does it again.
func (b AutopilotRaft) AddVoter(id raft.ServerID, address raft.ServerAddress, _ uint64, timeout time.Duration) raft.IndexFuture {
	host := b.Servers.view().Host(string(id))
	if _, configured := b.Servers.Configured()[id]; !configured || host == nil || !host.Server {
		return voteRefused{id}
	}
	failpoint.Reached(failpoint.VoterAdding)
	return b.Raft.AddVoter(id, address, 0, timeout)
}

// voteRefused is the outcome of a change that was not made.
type voteRefused struct{ id raft.ServerID }

// Error names the host.
func (r voteRefused) Error() error {
	return fmt.Errorf("host %s is no server any more: it gets no vote", r.id)
}

// Index is 0: nothing was recorded.
func (r voteRefused) Index() uint64 { return 0 }

// checkQuorumWithout checks that the pool can go on without a voter: a majority of the others answers. spec.ErrUnavailable.
func (s *Servers) checkQuorumWithout(ctx context.Context, without string) error {
	if !s.isVoter(without) {
		return nil
	}
	view, others, answering := s.view(), 0, 0
	for id, server := range s.Configured() {
		if string(id) == without || server.Suffrage != raft.Voter {
			continue
		}
		others++
		if host := view.Host(string(id)); host != nil && s.isRaftRunning(ctx, host) {
			answering++
		}
	}
	if others == 0 || answering*2 > others { // the only server is refused elsewhere, with its own reason
		return nil
	}
	return spec.Unavailable(fmt.Sprintf("host %s stays a server: of the %d others only %d answer, and without a majority nothing can be "+
		"recorded any more; start the others again, or wait until those that were removed have no vote any more", without, others, answering))
}
