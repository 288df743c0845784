package server

import (
	"os"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
)

// TestHowLongAPoolIsWithoutALeader prints what it measures; it asserts only that there is a leader again each time.
func TestHowLongAPoolIsWithoutALeader(t *testing.T) {
	rounds := 2
	if os.Getenv("PINION_BENCH") != "" {
		rounds = 40
	}
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.reaches(3)
	definition := define(t, p.leader().member.own(), 0)
	var took []time.Duration
	for range rounds {
		leader := p.leader()
		killed := time.Now()
		leader.member.own().raft.Shutdown().Error() // as if killed: it hands nothing over
		ended := make(chan struct{})
		go func() { defer close(ended); leader.close() }()
		eventually(t, "a run is accepted", func() bool {
			for _, h := range p.hosts {
				if h == leader || h.member.own() == nil {
					continue
				}
				if result, err := h.member.Run(t.Context(), raftfsm.RunRequest{Cluster: raftfsm.DefaultCluster, Definition: definition, Count: 1}); err == nil && len(result.Tasks) == 1 {
					return true
				}
			}
			return false
		})
		took = append(took, time.Since(killed))
		<-ended
		if err := leader.start(); err != nil {
			t.Fatal(err)
		}
		p.reaches(3)
		p.agree()
	}
	slices.Sort(took)
	t.Logf("from the loss of the leader to the next accepted run: p50 %v, worst %v of %d", took[len(took)/2], took[len(took)-1], len(took))
}
