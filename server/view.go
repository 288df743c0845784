package server

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
)

// View is linearizable: it holds every change that was acknowledged before the call.
//
// A change is acknowledged only after it is in this server's state, so all a view needs is that nobody else leads.
// A server that is the only voter knows that without asking, even while it cannot write; several voters are asked
// once for all the reads that wait.
func (s *Server) View(ctx context.Context) (*raftfsm.View, error) {
	if err := s.acquire(); err != nil {
		return nil, err
	}
	defer s.drain.release()
	if err := s.CheckLeader(ctx); err != nil {
		return nil, err
	}
	return s.state.View(), nil
}

// CheckLeader returns nil when no other server leads: this server's state has every acknowledged change then.
func (s *Server) CheckLeader(ctx context.Context) error {
	if s.hasLed() && s.isSoleVoter() {
		return nil
	}
	if _, err := s.requireLeader(); err != nil {
		return err
	}
	verdict, err := s.leaderChecks.Do(ctx, struct{}{})
	if err != nil { // a question records nothing, so its outcome is not unknown
		return fmt.Errorf("%w (%w)", errBusy, context.Cause(ctx))
	}
	return verdict
}

// hasLed reports whether this process has led once: everything recorded before it started is in its state then.
func (s *Server) hasLed() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// isSoleVoter reports whether this server is the only voter.
func (s *Server) isSoleVoter() bool {
	voters, mine := 0, false
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		if server.Suffrage == raft.Voter {
			voters++
			mine = mine || server.ID == raft.ServerID(s.cfg.HostID)
		}
	}
	return voters == 1 && mine
}

// verifyLeader asks the other voters once, for every read of the batch. Whoever lost the leadership and won it back between
// asking and answering has a new term with its own barrier, so the answer still holds.
func (s *Server) verifyLeader(reads []struct{}) []error {
	verdicts := make([]error, len(reads))
	_, err := s.requireLeader()
	if err == nil && !s.stallDetector.observe(time.Now()) {
		err = ErrNotLeader
	}
	if err == nil {
		err = s.raft.VerifyLeader().Error()
	}
	if err != nil {
		for i := range verdicts {
			verdicts[i] = ErrNotLeader
		}
	}
	return verdicts
}
