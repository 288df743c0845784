package consensus

import (
	"errors"
	"testing"

	"pinion/raftfsm"
)

// What a leader records first is refused on a full disk, for example. Without another try the pool would have a leader that answers nobody.
func TestALeaderThatCannotBeginItsTermTriesAgain(t *testing.T) {
	tries := 0
	cfg := config(t.TempDir())
	cfg.BeginTerm = func(*raftfsm.View) ([]raftfsm.Command, error) {
		if tries++; tries <= 2 {
			return nil, errors.New("not yet")
		}
		return nil, nil
	}
	if n := start(t, cfg); !n.Leads() {
		t.Error("it does not lead")
	}
	if tries != 3 {
		t.Errorf("it began its term %d times", tries)
	}
}
