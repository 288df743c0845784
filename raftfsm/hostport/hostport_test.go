package hostport

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestASetKeepsWhatItsCopiesChange has what a planner relies on: to try a placement changes nothing of what is free.
func TestASetKeepsWhatItsCopiesChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ports := rapid.SliceOfN(rapid.IntRange(80, 84), 0, 3)
		var taken Set
		taken.Add(ports.Draw(t, "taken"))
		before, wanted := maps.Clone(taken), ports.Draw(t, "wanted")

		port, conflict := taken.Conflict(wanted)
		free := taken.Free(wanted)
		twice := len(slices.Compact(slices.Sorted(slices.Values(wanted)))) < len(wanted)
		if conflict != (twice || len(free) < len(wanted)) || conflict && !slices.Contains(wanted, port) {
			t.Fatalf("of %v, with %v taken, %d is a conflict: %t; free are %v", wanted, taken, port, conflict, free)
		}
		if with := taken.With(wanted); len(with.Free(wanted)) > 0 {
			t.Fatalf("%v with %v is %v", taken, wanted, with)
		}
		if !conflict && !maps.Equal(taken.With(wanted).Without(wanted), taken) {
			t.Fatalf("%v with and without %v is %v", taken, wanted, taken.With(wanted).Without(wanted))
		}
		if !maps.Equal(taken, before) {
			t.Fatalf("%v became %v", before, taken)
		}
	})
}
