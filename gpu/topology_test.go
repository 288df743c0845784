package gpu

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestABoardPicksAsPickDoes(t *testing.T) {
	var cache TopologyCache // one cache for all machines: results of one machine must not be returned for another
	rapid.Check(t, func(t *rapid.T) {
		devices := anyMachine(t)
		topology := cache.Topology(rapid.Permutation(devices).Draw(t, "devices"))
		for range rapid.IntRange(1, 4).Draw(t, "questions") {
			free := rapid.SliceOf(rapid.SampledFrom(append(allNames(devices), "GPU-elsewhere"))).Draw(t, "free")
			n := rapid.IntRange(-1, len(devices)+1).Draw(t, "n")
			want := Pick(devices, free, n)
			for _, asked := range []string{"first", "again"} {
				set := topology.Pick(topology.HealthySet(free), n)
				if got := topology.UUIDs(set); !slices.Equal(got, want) {
					t.Fatalf("asked %s for %d of %v the topology picks %v, Pick %v", asked, n, free, got, want)
				}
				healthy := candidates(devices, want)
				if got, worth := topology.Score(topology.HealthySet(free), n), int(pairs(scoreLinks(healthy), 1<<len(healthy)-1)); got != worth {
					t.Fatalf("asked %s, %v are worth %d, want %d", asked, want, got, worth)
				}
			}
		}
	})
}

func TestWorthComparesHosts(t *testing.T) {
	var cache TopologyCache
	for _, c := range []struct {
		intention          string
		better, worse      string
		betterFree, lesser []int
		n                  int
	}{
		{"NVSwitch before PCIe", hgxH100, t4s, []int{0, 1}, []int{0, 1}, 2},
		{"more lanes before fewer", hgxH100, dgx1, []int{0, 1}, []int{0, 3}, 2},
		{"a bridge that is whole before one that is torn", bridged, bridged, []int{0, 1}, []int{1, 2, 3}, 2},
		{"one socket before two", t4s, t4s, []int{0, 1, 2, 3}, []int{0, 1, 2, 4, 5, 6}, 4},
		{"one socket before two behind NVSwitch", hgxH100, hgxH100, []int{4, 5}, []int{3, 4}, 2},
		{"half of the cube before a ring across", dgx1, dgx1, []int{4, 5, 6, 7}, []int{0, 1, 4, 5}, 4},
	} {
		t.Run(c.intention, func(t *testing.T) {
			better, worse := cache.Topology(machine(t, c.better)), cache.Topology(machine(t, c.worse))
			high, low := better.Score(better.HealthySet(names(c.betterFree...)), c.n), worse.Score(worse.HealthySet(names(c.lesser...)), c.n)
			if high <= low {
				t.Errorf("%d is not more than %d", high, low)
			}
		})
	}
}

func TestABoardWithoutDevicesHasNothing(t *testing.T) {
	for intention, topology := range map[string]Topology{"zero": {}, "no devices": new(TopologyCache).Topology(nil)} {
		if set := topology.HealthySet(names(0)); set != 0 || topology.Pick(^DeviceSet(0), 1) != 0 || topology.Score(^DeviceSet(0), 1) != 0 || len(topology.UUIDs(set)) > 0 {
			t.Errorf("%s: has %b, picks %b", intention, set, topology.Pick(^DeviceSet(0), 1))
		}
	}
}

func TestHostsThatAreWiredAlikeShareWhatWasChosen(t *testing.T) {
	var cache TopologyCache
	h100, sick, t4 := machine(t, hgxH100), machine(t, hgxH100), machine(t, t4s)
	for i := range sick {
		sick[i].UUID = "other-" + sick[i].UUID
		var renamed Links
		for link := range sick[i].Links.All() {
			link.Peer = "other-" + link.Peer
			renamed += PackLinks(link)
		}
		sick[i].Links = renamed
	}
	sick[0].Health = Unhealthy
	one, other, third := cache.Topology(h100), cache.Topology(sick), cache.Topology(t4)
	if one.picks != other.picks {
		t.Error("two hosts with the same topology do not share")
	}
	if one.picks == third.picks {
		t.Error("two hosts with different topologies share")
	}
	if got, want := other.UUIDs(other.Pick(^DeviceSet(0), 1)), []string{"other-" + name(1)}; !slices.Equal(got, want) {
		t.Errorf("picked %v, want %v: the sick one is not to be chosen", got, want)
	}
}

func TestAHostHasTheDevicesThatADriverServes(t *testing.T) {
	devices := cubes(MaxDevices + 8)
	slices.Reverse(devices)
	topology := new(TopologyCache).Topology(devices)
	if got, want := topology.UUIDs(topology.HealthySet(allNames(devices))), allNames(cubes(MaxDevices)); !slices.Equal(got, want) {
		t.Errorf("has %v, want %v", got, want)
	}
	if got, want := topology.UUIDs(topology.Pick(^DeviceSet(0), 32)), Pick(devices, allNames(devices), 32); !slices.Equal(got, want) || len(got) != 32 {
		t.Errorf("picked %v, want %v", got, want)
	}
}

// TestManyAskOneBoard runs concurrent callers for the race detector, and checks that all get the same result.
func TestManyAskOneBoard(t *testing.T) {
	devices := cubes(12)
	var cache TopologyCache
	var all sync.WaitGroup
	for asker := range 8 {
		all.Go(func() {
			topology := cache.Topology(devices)
			for i := range DeviceSet(1 << 10) {
				free, n := i*4|DeviceSet(asker), 1+asker%4
				got, want := topology.UUIDs(topology.Pick(free, n)), Pick(devices, topology.UUIDs(free), n)
				if !slices.Equal(got, want) {
					t.Errorf("%d of %b: got %v, want %v", n, free, got, want)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkBoard(b *testing.B) {
	for _, c := range []struct{ size, n int }{{8, 1}, {8, 4}, {16, 4}, {16, 8}} {
		var cache TopologyCache
		topology := cache.Topology(cubes(c.size))
		b.Run(fmt.Sprintf("Worth%dOf%d", c.n, c.size), func(b *testing.B) {
			for b.Loop() {
				if topology.Score(^DeviceSet(0), c.n) < 0 {
					b.Fatal("worth less than nothing")
				}
			}
		})
	}
	b.Run("Make8", func(b *testing.B) {
		var cache TopologyCache
		devices := cubes(8)
		for b.Loop() {
			cache.Topology(devices)
		}
	})
}
