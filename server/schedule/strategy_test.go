package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// by adds strategies to a request, "type field".
func by(r Request, strategies ...string) Request {
	for _, s := range strategies {
		kind, field, _ := strings.Cut(s, " ")
		r.Run.Strategy = append(r.Run.Strategy, spec.PlacementStrategy{Type: kind, Field: field})
	}
	return r
}

func TestStrategies(t *testing.T) {
	a, b := with("zone", "A"), with("zone", "B")
	full := used(host("full", 4), 0, 3000)
	little := host("little", 8)
	little.Free.MemoryMiB = 500
	cases := []struct {
		name    string
		hosts   []Host
		request Request
		want    []string
	}{
		{"binpack cpu: least CPU left", []Host{host("a", 1), full}, by(request(2, 1), "binpack cpu"), []string{"full", "full"}},
		{"binpack memory: least memory left", []Host{host("a", 1), little, full}, by(request(1, 1), "binpack memory"), []string{"little"}},
		{"until it is full, best effort", []Host{host("a", 1), little}, by(request(6, 0), "binpack memory"), []string{"little", "little", "little", "little", "little", "a"}},
		{"binpack gpu: fewest GPUs left", []Host{host("a", 8), host("b", 2)}, by(request(3, 1), "binpack gpu"), []string{"b", "b", "a"}},
		{"spread over hosts", []Host{host("a", 4), host("b", 8), host("c", 2)}, by(request(5, 1), "spread instanceId"), []string{"c", "a", "b", "c", "a"}},
		{"spread over an attribute", []Host{host("a1", 4, a), host("a2", 4, a), host("b1", 8, b)}, by(request(4, 1), "spread attribute:zone"), []string{"a1", "b1", "a1", "b1"}},
		{"spread counts what runs, of the group only", []Host{running(host("a1", 2, a), "family:work", "family:work"), running(host("b1", 8, b), "x", "x", "x")},
			by(request(3, 1), "spread attribute:zone"), []string{"b1", "b1", "a1"}},
		{"and of hosts that are full themselves", []Host{running(host("a0", 0, a), "family:work", "family:work"), host("a1", 4, a), host("b1", 8, b)},
			by(request(2, 1), "spread attribute:zone"), []string{"b1", "b1"}},
		{"hosts without the attribute are one more place", []Host{host("a1", 8, a), host("n1", 8), host("n2", 8)}, by(request(4, 1), "spread attribute:zone"), []string{"a1", "n1", "a1", "n1"}},
		{"chained: zone, then hosts", []Host{host("a1", 8, a), host("a2", 8, a), host("b1", 8, b)}, by(request(4, 1), "spread attribute:zone", "spread instanceId"), []string{"a1", "b1", "a2", "b1"}},
		{"chained: zone, then the fullest", []Host{host("a1", 4, a), used(host("a2", 8, a), 0, 2000), host("b1", 8, b)}, by(request(3, 1), "spread attribute:zone", "binpack cpu"), []string{"a2", "b1", "a2"}},
		{"equals go by Pinion's own order", []Host{host("a", 8), host("b", 4)}, by(request(1, 1), "spread instanceId"), []string{"b"}},
		{"within the constraints", []Host{host("a", 1), host("b", 8, b)}, limited(by(request(1, 1), "binpack gpu"), "attribute:zone == B"), []string{"b"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { wantPlaces(t, plan(c.hosts, c.request), c.want...) })
	}
}

func TestRandomIsTheSameForASeedAndFairOverSeeds(t *testing.T) {
	var hosts []Host
	for _, id := range []string{"a", "b", "c", "d"} {
		hosts = append(hosts, host(id, 8))
	}
	seen, of := map[string]int{}, map[string]bool{}
	for seed := range uint64(400) {
		r := by(request(3, 1), "random")
		r.Seed = seed
		got := places(plan(hosts, r))
		if again := places(plan(hosts, r)); !slices.Equal(got, again) {
			t.Fatalf("seed %d: %v and %v", seed, got, again)
		}
		for _, id := range got {
			seen[id]++
		}
		of[fmt.Sprint(got)] = true
	}
	for id, n := range seen {
		if n < 240 || n > 360 {
			t.Errorf("%s was chosen %d times of 1200", id, n)
		}
	}
	if len(of) < 60 {
		t.Errorf("%d of 64 ways to place three tasks were seen", len(of))
	}
}
