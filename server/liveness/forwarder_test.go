package liveness

import (
	"errors"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestAHostIsSentAwayFromAServerThatReachesNoLeader(t *testing.T) {
	now := day0
	r := forwarding{now: func() time.Time { return now }}
	if err := r.check("one"); err != nil {
		t.Fatal(err)
	}
	r.leaderFailed()
	if err := r.check("one"); err != nil {
		t.Errorf("at once, as in an election: %v", err)
	}
	now = now.Add(2 * leaderlessTimeout)
	if err := r.check("one"); !errors.Is(err, spec.ErrUnavailable) || !r.isCutOff() {
		t.Errorf("after a while: %v", err)
	}
	r.acknowledge([]string{"two"})
	if err := r.check("one"); err != nil {
		t.Errorf("when the leader is back: %v", err)
	}
	if err := r.check("two"); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a host that the leader does not know: %v", err)
	}
}
