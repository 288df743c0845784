package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPickOnRealMachines(t *testing.T) {
	all := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		intention, machine string
		free               []int
		n                  int
		want               []int
	}{
		{"V100: two GPUs get a double NVLink", dgx1, all, 2, []int{0, 3}},
		{"V100: four GPUs get one half of the cube", dgx1, all, 4, []int{0, 1, 2, 3}},
		{"V100: four of six get the whole half", dgx1, []int{0, 2, 4, 5, 6, 7}, 4, []int{4, 5, 6, 7}},
		{"V100: a pair across the halves if its NVLink is the widest", dgx1, []int{0, 1, 4, 6}, 2, []int{0, 4}},
		{"V100: one GPU is taken where it is missed least", dgx1, []int{0, 1, 2, 3, 4}, 1, []int{4}},
		{"H100: all alike, so the lowest", hgxH100, all, 2, []int{0, 1}},
		{"H100: four GPUs stay on one socket", hgxH100, []int{1, 2, 4, 5, 6, 7}, 4, []int{4, 5, 6, 7}},
		{"H100: one GPU comes from the socket in use", hgxH100, []int{0, 1, 2, 3, 6, 7}, 1, []int{6}},
		{"T4: four GPUs stay on one socket", t4s, []int{0, 1, 2, 4, 5, 6, 7}, 4, []int{4, 5, 6, 7}},
		{"T4: one GPU leaves the whole socket whole", t4s, []int{0, 1, 2, 3, 5}, 1, []int{5}},
		{"T4: two GPUs come from the socket that is broken up", t4s, []int{0, 1, 2, 3, 4, 7}, 2, []int{4, 7}},
		{"T4: across sockets when nothing else is left", t4s, []int{3, 4}, 2, []int{3, 4}},
		{"A40: the bridge is worth more than PCIe switches", bridged, []int{0, 1, 2, 3}, 2, []int{0, 1}},
		{"A40: one GPU does not break the bridge", bridged, []int{0, 1, 2, 3}, 1, []int{2}},
		{"A40: both behind the switch rather than torn from it", bridged, []int{0, 2, 3}, 2, []int{0, 2}},
		{"K80: two GPUs are those of one board", k80s, []int{1, 2, 3, 4}, 2, []int{2, 3}},
		{"K80: two boards behind one switch before two beside each other", k80s, []int{0, 2, 4}, 2, []int{0, 2}},
		{"K80: four GPUs are those behind one switch", k80s, []int{0, 1, 4, 5, 6, 7}, 4, []int{4, 5, 6, 7}},
		{"everything", dgx1, all, 8, all},
	} {
		t.Run(c.intention, func(t *testing.T) {
			if got := Pick(machine(t, c.machine), names(c.free...), c.n); !slices.Equal(got, names(c.want...)) {
				t.Errorf("got %v, want %v", got, names(c.want...))
			}
		})
	}
}

func TestPickRefuses(t *testing.T) {
	devices := machine(t, t4s)
	devices[0].Health = Unhealthy
	for intention, c := range map[string]struct {
		free []string
		n    int
	}{
		"nothing wanted":              {names(1, 2), 0},
		"less than nothing wanted":    {names(1, 2), -1},
		"more than are free":          {names(1, 2), 3},
		"a sick GPU":                  {names(0, 1), 2},
		"one GPU named twice":         {names(1, 1), 2},
		"a GPU of another host":       {[]string{name(1), "GPU-elsewhere"}, 2},
		"anything when none are free": {nil, 1},
	} {
		t.Run(intention, func(t *testing.T) {
			if got := Pick(devices, c.free, c.n); got != nil {
				t.Errorf("got %v, want nil", got)
			}
		})
	}
}

func TestPickKeepsItsPromisesOnAnyMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices := anyMachine(t)
		free := rapid.SliceOfDistinct(rapid.SampledFrom(allNames(devices)), rapid.ID).Draw(t, "free")
		n := rapid.IntRange(-1, len(devices)+1).Draw(t, "n")
		got := Pick(devices, free, n)

		healthy := candidates(devices, free)
		if n <= 0 || n > len(healthy) {
			if got != nil {
				t.Fatalf("got %v where %d of %d were wanted", got, n, len(healthy))
			}
			return
		}
		if len(got) != n || !subset(got, uuids(healthy)) {
			t.Fatalf("got %v, not %d of %v", got, n, uuids(healthy))
		}
		if !slices.IsSortedFunc(got, byIndex(devices)) {
			t.Fatalf("%v is not ordered by index", got)
		}
		shuffled := Pick(rapid.Permutation(devices).Draw(t, "devices"), rapid.Permutation(free).Draw(t, "order"), n)
		if !slices.Equal(got, shuffled) {
			t.Fatalf("%v in one order, %v in another", got, shuffled)
		}
		w := scoreLinks(healthy)
		if first := scoreSet(w, 1<<n-1); first.better(scoreSet(w, positions(healthy, got))) {
			t.Fatalf("%v is worse than the first %d", got, n)
		}
	})
}

// TestPickIsExactUpToSixteen compares Pick with exhaustive search over all sets, including the score of the rest. The
// oracle is slow, so it stops at 10 devices; the search code is the same up to 16.
func TestPickIsExactUpToSixteen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices := anyMachine(t)
		devices = devices[:min(len(devices), 10)]
		healthy := candidates(devices, allNames(devices))
		n := rapid.IntRange(1, len(devices)).Draw(t, "n")
		got := Pick(devices, allNames(devices), n)
		if got == nil {
			return
		}
		w, mine := scoreLinks(healthy), positions(healthy, got)
		all := DeviceSet(1<<len(healthy) - 1)
		for other := DeviceSet(1); other <= all; other++ {
			if other.Len() == n && preferred(w, all, other, mine) {
				t.Fatalf("picked %b of %d, but %b is better", mine, len(healthy), other)
			}
		}
	})
}

// preferred reports whether the contract of Pick orders a before b.
func preferred(w linkScores, all, a, b DeviceSet) bool {
	return cmp.Or(
		cmp.Compare(pairs(w, b), pairs(w, a)),
		cmp.Compare(pairs(w, all&^b), pairs(w, all&^a)),
		slices.Compare(slices.Collect(a.positions()), slices.Collect(b.positions())),
	) < 0
}

// pairs is the sum of link scores of a set.
func pairs(w linkScores, set DeviceSet) (sum int32) {
	for i := range set.positions() {
		for j := range set.positions() {
			if i < j {
				sum += w.row(i)[j]
			}
		}
	}
	return sum
}

func candidates(devices []Device, free []string) []*Device {
	return slices.DeleteFunc(ordered(devices, MaxDevices), func(d *Device) bool {
		return d.Health != Healthy || !slices.Contains(free, d.UUID)
	})
}

// anyMachine draws up to 20 devices with random links, some devices unhealthy, some links recorded on one side only.
func anyMachine(t *rapid.T) []Device {
	cells := []string{"", "SYS", "NODE", "PHB", "PXB", "PIX", "NV1", "NV2", "NV4", "NV18"}
	size := rapid.IntRange(1, 20).Draw(t, "size")
	devices := make([]Device, size)
	for i := range devices {
		devices[i] = Device{UUID: name(i), Index: i, NUMANode: rapid.IntRange(-1, 1).Draw(t, "numa"), Health: Healthy}
		if rapid.IntRange(0, 9).Draw(t, "sick") == 0 {
			devices[i].Health = Unhealthy
		}
		for peer := range size {
			if cell := rapid.SampledFrom(cells).Draw(t, "link"); peer != i && cell != "" {
				devices[i].Links += PackLinks(drawnLink(peer, cell))
			}
		}
	}
	return devices
}

func drawnLink(peer int, cell string) Link {
	var lanes int
	if _, err := fmt.Sscanf(cell, "NV%d", &lanes); err == nil {
		return Link{Peer: name(peer), Kind: LinkNVLink, Lanes: lanes}
	}
	return Link{Peer: name(peer), Kind: LinkKind(cell)}
}

func allNames(devices []Device) []string {
	var all []string
	for _, d := range devices {
		all = append(all, d.UUID)
	}
	return all
}

func subset(part, whole []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(whole, s) })
}

func byIndex(devices []Device) func(a, b string) int {
	inventory := Inventory{Devices: devices}
	return func(a, b string) int {
		left, _ := inventory.Device(a)
		right, _ := inventory.Device(b)
		return left.Index - right.Index
	}
}

func positions(devices []*Device, chosen []string) (set DeviceSet) {
	all := uuids(devices)
	for _, uuid := range chosen {
		set |= 1 << slices.Index(all, uuid)
	}
	return set
}

func BenchmarkPick(b *testing.B) {
	for _, c := range []struct{ size, n int }{{8, 1}, {8, 2}, {8, 4}, {16, 4}, {16, 8}, {32, 8}} {
		b.Run(fmt.Sprintf("%dOf%d", c.n, c.size), func(b *testing.B) {
			devices := cubes(c.size)
			free := allNames(devices)
			for b.Loop() {
				if got := Pick(devices, free, c.n); len(got) != c.n {
					b.Fatal(got)
				}
			}
		})
	}
}

// cubes is a machine of fully linked groups of four on two sockets each, the links between groups through PCIe.
func cubes(size int) []Device {
	devices := make([]Device, size)
	for i := range devices {
		devices[i] = Device{UUID: name(i), Index: i, NUMANode: i / 8, Health: Healthy}
		for peer := range size {
			switch {
			case peer == i:
			case peer/4 == i/4:
				devices[i].Links += PackLinks(Link{Peer: name(peer), Kind: LinkNVLink, Lanes: 1 + (i+peer)%2})
			default:
				devices[i].Links += PackLinks(Link{Peer: name(peer), Kind: LinkSystem})
			}
		}
	}
	return devices
}
