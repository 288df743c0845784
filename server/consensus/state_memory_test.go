package consensus

import (
	"errors"
	"testing"

	"pinion/raftfsm"
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
	if err := CheckStateMemory(raftfsm.NewState().View()); err != nil {
		t.Error(err)
	}
}

// The leader refuses what the smallest server could not hold, which may lead next.
func TestTheSmallestServerBoundsTheState(t *testing.T) {
	const giga, gigaMiB = 1 << 30, 1 << 10
	of := func(all ...int64) (servers []*spec.Host) {
		for _, memory := range all {
			servers = append(servers, &spec.Host{MemoryMiB: memory})
		}
		return servers
	}
	for name, c := range map[string]struct {
		own     uint64
		servers []*spec.Host
		want    uint64
	}{
		"this one alone":                {64 * giga, of(63 * gigaMiB), 63 * giga},
		"a small one beside it":         {64 * giga, of(63*gigaMiB, 3*gigaMiB, 200*gigaMiB), 3 * giga},
		"one that does not say":         {64 * giga, of(0), 64 * giga},
		"a kernel here that does not":   {0, of(3 * gigaMiB), 3 * giga},
		"before the state has the pool": {64 * giga, nil, 64 * giga},
	} {
		if got := leastMemory(c.own, c.servers); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
