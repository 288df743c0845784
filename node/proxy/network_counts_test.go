package proxy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The counts are those of the connections that are there, in any order of coming and going.
func TestTheNetworkWithTheMostConnectionsIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts, open := newNetworkCounts(), []string{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "ends") {
				at := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				counts.add(open[at], -1)
				open = slices.Delete(open, at, at+1)
			} else {
				network := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "network")
				counts.add(network, 1)
				open = append(open, network)
			}
			of, most := map[string]int{}, 0
			for _, network := range open {
				of[network]++
				most = max(most, of[network])
			}
			newcomer := rapid.SampledFrom([]string{"a", "b", "e"}).Draw(t, "newcomer")
			network, greater := counts.greatest(newcomer)
			if want := most > of[newcomer]+1; greater != want || greater && of[network] != most {
				t.Fatalf("%v, newcomer %s: %q, %t", of, newcomer, network, greater)
			}
		}
	})
}
