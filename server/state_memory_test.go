package server

import (
	"errors"
	"testing"

	"pinion/raftfsm/spec"
)

func TestTheStateHasAShareOfTheMemory(t *testing.T) {
	const giga = 1 << 30
	for name, c := range map[string]struct {
		live, memory uint64
		full         bool
	}{
		"a million tasks on a machine of 16 G": {3 * giga / 2, 16 * giga, false},
		"a quarter":                            {4 * giga, 16 * giga, false},
		"more than a quarter":                  {4*giga + 1, 16 * giga, true},
		"a kernel that does not say":           {4 * giga, 0, false},
	} {
		if err := stateMemory(c.live, c.memory); errors.Is(err, spec.ErrStateFull) != c.full || (err != nil) != c.full {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := checkStateMemory(); err != nil {
		t.Error(err)
	}
}
