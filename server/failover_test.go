package server

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
)

// TestHowLongAPoolIsWithoutALeader prints what it measures; it asserts only that there is a leader again each time. A
// killed process takes its port and all its connections with it; one that is cut off leaves them as they are.
func TestHowLongAPoolIsWithoutALeader(t *testing.T) {
	passes := 2
	if os.Getenv("PINION_BENCH") != "" {
		passes = 40
	}
	for _, c := range []struct {
		name string
		gone func(*testHost) error
	}{
		{"killed", func(h *testHost) error {
			return errors.Join(h.port.Close(), h.member.localServer().node.Raft().Shutdown().Error())
		}},
		{"silent", func(h *testHost) error { return h.member.localServer().node.Raft().Shutdown().Error() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t)
			p.found(nil)
			p.join(2)
			p.waitForVoters(3)
			definition := define(t, p.leader().member.localServer(), 0)
			var took []time.Duration
			for range passes {
				took = append(took, p.failoverTime(p.leader(), c.gone, definition))
				p.waitForVoters(3)
				p.checkAgreement()
			}
			slices.Sort(took)
			t.Logf("from the loss of the leader to the next accepted run: p50 %v, worst %v of %d", took[len(took)/2], took[len(took)-1], len(took))
		})
	}
}

// What was forwarded to the next leader waits there until it is ready. While it took the leader that its session remembers for the one of now, it sent
// such requests back, and they were repeated after pauses only.
func TestAServerThatStandsForElectionKnowsNoLeader(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	leader, candidate := p.leader(), p.followers()[0]
	p.followers()[1].close()
	if err := errors.Join(leader.port.Close(), leader.member.localServer().node.Raft().Shutdown().Error()); err != nil {
		t.Fatal(err)
	}
	known := func() string {
		address, _ := candidate.member.knownLeader()
		return address
	}
	eventually(t, "it knows no leader as a candidate", func() bool {
		return candidate.member.localServer().node.Raft().State() == raft.Candidate && known() == ""
	})
	// One that does not win within the time of an election may be cut off from a leader that its session reaches.
	eventually(t, "it asks the leader of its session again", func() bool { return known() == leader.where })
}

// failoverTime is how long it takes until a run is accepted by somebody else. The leader is back when it returns.
func (p *pool) failoverTime(leader *testHost, gone func(*testHost) error, definition string) time.Duration {
	began := time.Now()
	if err := gone(leader); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); leader.close() }()
	eventually(p.t, "a run is accepted", func() bool {
		return slices.ContainsFunc(p.hosts, func(h *testHost) bool {
			if h == leader || h.member.localServer() == nil {
				return false
			}
			result, err := h.member.Run(p.t.Context(), spec.RunRequest{Cluster: spec.DefaultCluster, Definition: definition, Count: 1})
			return err == nil && len(result.Tasks) == 1
		})
	})
	took := time.Since(began)
	<-ended
	if err := leader.start(); err != nil {
		p.t.Fatal(err)
	}
	return took
}
