//go:build cgo

package main

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pinion/gpu"
)

var drawnMachines = flag.Int("machines", 10, "how many machines of each size BenchmarkLinkScores draws")

const (
	freeSets  = 5  // free sets drawn of each machine and number
	mostDrawn = 12 // free GPUs of a drawn set at most: NVIDIA's policy takes seconds from 14 up
)

// BenchmarkLinkScores chooses GPUs beside NVIDIA's best-effort policy, which is asked through its library: from every model and
// from drawn machines.
func BenchmarkLinkScores(b *testing.B) {
	for b.Loop() {
		all := newComparison()
		chance := rand.New(rand.NewPCG(1, 2)) // the same machines each time
		for _, m := range benchMachines(b, chance) {
			all.addDrawn(b.Context(), m, chance)
		}
		all.report(b)
	}
	b.ReportMetric(0, "ns/op")
}

// benchMachines are one machine of each model, and as many drawn ones of each size as the flag says.
func benchMachines(b *testing.B, chance *rand.Rand) []machine {
	b.Helper()
	machines, err := openMachines(b.Context())
	must(b, err)
	for _, size := range []int{2, 4, 8, 16} {
		for range *drawnMachines {
			machines = append(machines, drawMachine(size, chance))
		}
	}
	return machines
}

// comparison compares the two choosers, by the score of NVIDIA's library.
type comparison struct {
	topologies    gpu.TopologyCache
	cases, better int
	score         float64 // our score of the set / theirs, the lowest of all cases
	short         int     // cases where theirs gave fewer GPUs than asked for
	equal         int     // cases of as many GPUs with the same score
	rest          float64 // the score of what stays free, ours / theirs, the lowest of the equal cases
}

func newComparison() *comparison { return &comparison{score: math.Inf(1), rest: math.Inf(1)} }

// addDrawn compares every number of a machine's GPUs, from drawn free sets.
func (c *comparison) addDrawn(ctx context.Context, m machine, chance *rand.Rand) {
	theirs, topology := newBestEffort(m.devices), c.topologies.Topology(m.devices)
	most := min(len(m.devices), mostDrawn)
	for n := 1; n <= most; n++ {
		for range freeSets {
			free := drawSet(len(m.devices), n+chance.IntN(most-n+1), chance)
			c.compare(theirs, free, theirs.pick(free, n), topology.Pick(free, n))
		}
		if ctx.Err() != nil {
			return
		}
	}
}

func (c *comparison) compare(theirs bestEffort, free, their, our gpu.DeviceSet) {
	c.cases++
	score := ratio(theirs.score(our), theirs.score(their))
	c.score = min(c.score, score)
	switch {
	case their.Len() < our.Len():
		c.short++
	case score > 1:
		c.better++
	case score == 1:
		c.equal++
		c.rest = min(c.rest, ratio(theirs.score(free&^our), theirs.score(free&^their)))
	}
}

// ratio of two scores; nothing beside nothing is as good.
func ratio(ours, theirs int) float64 {
	if ours == theirs {
		return 1
	}
	return float64(ours) / float64(theirs)
}

func (c *comparison) report(b *testing.B) {
	b.ReportMetric(c.score, "worst-score-ratio")
	b.ReportMetric(float64(c.cases), "cases")
	b.ReportMetric(float64(c.better), "better-cases")
	b.ReportMetric(float64(c.short), "short-cases")
	b.ReportMetric(c.rest, "worst-rest-ratio")
	b.ReportMetric(float64(c.equal), "equal-cases")
}

// BenchmarkPick4Of16 times choosing, all GPUs being free. NVIDIA's policy is timed once on each machine: it takes seconds.
func BenchmarkPick4Of16(b *testing.B) {
	const n, free = 4, gpu.DeviceSet(1<<16 - 1)
	var picks, cached, theirs []time.Duration
	all := newComparison()
	machines := slices.DeleteFunc(benchMachines(b, rand.New(rand.NewPCG(1, 2))), func(m machine) bool { return len(m.devices) != 16 })[:3]
	for _, m := range machines {
		policy := newBestEffort(m.devices)
		begin := time.Now()
		their := policy.pick(free, n)
		theirs = append(theirs, time.Since(begin))
		all.compare(policy, free, their, all.topologies.Topology(m.devices).Pick(free, n))
	}
	for b.Loop() {
		for _, m := range machines {
			topology := all.topologies.Topology(m.devices)
			names := topology.UUIDs(free)
			for range 30 {
				begin := time.Now()
				ours := gpu.Pick(m.devices, names, n)
				picks = append(picks, time.Since(begin))
				begin = time.Now()
				for range 1000 {
					topology.Pick(free, n)
				}
				cached = append(cached, time.Since(begin)/1000)
				if topology.HealthySet(ours) != topology.Pick(free, n) {
					b.Fatalf("%s: Pick chooses %v, its topology %v", m.name, ours, topology.UUIDs(topology.Pick(free, n)))
				}
			}
		}
	}
	b.ReportMetric(all.score, "worst-score-ratio")
	b.ReportMetric(float64(median(picks).Nanoseconds()), "ns/op")
	b.ReportMetric(float64(median(cached).Nanoseconds()), "cached-ns")
	b.ReportMetric(float64(median(theirs).Nanoseconds()), "go-gpuallocator-ns")
}
