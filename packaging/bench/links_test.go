//go:build cgo

package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"pinion/gpu"
)

// TestChosenGPUsAreWiredAsWellAsNVIDIAsPolicyHasThem uses machines that its policy searches within a millisecond.
func TestChosenGPUsAreWiredAsWellAsNVIDIAsPolicyHasThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		m := drawMachine(size, chance)
		all := rapid.IntRange(1, size).Draw(t, "free")
		free := drawSet(size, all, chance)
		n := rapid.IntRange(1, all).Draw(t, "n")

		theirs, topology := newBestEffort(m.devices), new(gpu.TopologyCache).Topology(m.devices)
		our, their := topology.Pick(free, n), theirs.pick(free, n)
		c := newComparison()
		c.compare(theirs, free, their, our)
		if our.Len() != n || c.score < 1 || c.rest < 1 {
			t.Fatalf("%d of %b: ours %b is %.2f x theirs %b inside, %.2f x in what is left", n, free, our, c.score, their, c.rest)
		}
	})
}

func TestScoresAreComparedCaseByCase(t *testing.T) {
	var m machine
	for i := range 3 {
		m.devices = append(m.devices, gpu.Device{Index: i, UUID: string(rune('a' + i)), NUMANode: -1, Health: gpu.Healthy})
	}
	m.devices[0].Links = gpu.PackLinks(gpu.Link{Peer: "b", Kind: gpu.LinkNVLink, Lanes: 2}, gpu.Link{Peer: "c", Kind: gpu.LinkSwitch})
	m.devices[1].Links = gpu.PackLinks(gpu.Link{Peer: "a", Kind: gpu.LinkNVLink, Lanes: 2}, gpu.Link{Peer: "c", Kind: gpu.LinkNode})
	m.devices[2].Links = gpu.PackLinks(gpu.Link{Peer: "a", Kind: gpu.LinkSwitch}, gpu.Link{Peer: "b", Kind: gpu.LinkNode})
	theirs, c := newBestEffort(m.devices), newComparison()
	if got := []int{theirs.score(0b011), theirs.score(0b101), theirs.score(0b110)}; got[0] != 210 || got[1] != 50 || got[2] != 20 {
		t.Fatalf("scores are %v, want 210, 50 and 20", got)
	}
	c.compare(theirs, 0b111, 0b101, 0b110)
	if c.score != 0.4 || c.better != 0 || !math.IsInf(c.rest, 1) {
		t.Errorf("a worse set is %+v", c)
	}
	c.compare(theirs, 0b111, 0b001, 0b011)
	c.compare(theirs, 0b111, 0b101, 0b011)
	if c.cases != 3 || c.short != 1 || c.better != 1 || c.score != 0.4 {
		t.Errorf("a worse set, one short of GPUs and a better one are %+v", c)
	}
}
