package virtualip

import (
	"math/rand/v2"
	"testing"
)

func TestWhoHoldsAVirtualIP(t *testing.T) {
	serves := func(id string) Candidate { return Candidate{HostID: id} }
	lacks := func(id string, listeners int) Candidate { return Candidate{HostID: id, Problems: listeners} }
	busy := func(id string, holds int) Candidate { return Candidate{HostID: id, Holds: holds} }
	for _, c := range []struct {
		name       string
		holder     string
		candidates []Candidate
		want       string
	}{
		{"nobody offers it", "a", nil, ""},
		{"the first one", "", []Candidate{serves("b"), serves("a")}, "a"},
		{"the holder keeps it", "b", []Candidate{serves("a"), serves("b")}, "b"},
		{"though it has others, too", "b", []Candidate{serves("a"), busy("b", 3)}, "b"},
		{"the holder has gone", "b", []Candidate{serves("c"), serves("a")}, "a"},
		{"who has fewer addresses", "", []Candidate{busy("a", 1), serves("b")}, "b"},
		{"the holder's proxy lacks a listener", "b", []Candidate{lacks("b", 1), serves("a")}, "a"},
		{"a listener is lacking everywhere", "b", []Candidate{lacks("a", 1), lacks("b", 1)}, "b"},
		{"who lacks the fewest", "", []Candidate{lacks("a", 2), lacks("b", 1)}, "b"},
	} {
		for range 5 {
			rand.Shuffle(len(c.candidates), func(i, j int) { c.candidates[i], c.candidates[j] = c.candidates[j], c.candidates[i] })
			if got := Choose(c.candidates, c.holder); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}
