package consensus

import (
	"errors"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func TestANodeThatCannotGoOnSaysSoAndRefusesEverything(t *testing.T) {
	n := start(t, config(t.TempDir()))
	reason := errors.New("the disk hangs")
	n.fail(reason)
	n.fail(errors.New("a later reason"))
	if err := <-n.Fatal(); err != reason {
		t.Errorf("the reason is %v", err)
	}
	if _, err := n.View(t.Context()); !errors.Is(err, reason) || !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("a read: %v", err)
	}
	if _, err := n.Propose(t.Context(), raftfsm.Reap{}); !errors.Is(err, reason) {
		t.Errorf("a change: %v", err)
	}
	if n.Leads() {
		t.Error("it still leads")
	}
}
