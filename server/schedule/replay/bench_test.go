package replay

import (
	"flag"
	"math"
	"slices"
	"testing"
	"time"
)

// firstSeed is the first of the seeds that the published traces were replayed with.
const firstSeed = 42

var seeds = flag.Int64("seeds", 10, "how many of the ten published seeds the benchmark replays")

var traceNames = []string{"cpu200", "default", "gpushare40", "gpuspec33", "multigpu50"}

// BenchmarkTraces replays every published run and our own policy with the same seeds, and sets what is left unallocated beside
// the paper's results.
func BenchmarkTraces(b *testing.B) {
	var runs []Run
	b.Run("published", func(b *testing.B) {
		var slowest time.Duration
		for b.Loop() {
			runs, slowest = replayAll(b)
		}
		compareRuns(runs, published(b)).report(b)
		b.ReportMetric(float64(slowest.Nanoseconds()), "slowest-ns")
		b.ReportMetric(float64(len(runs)), "runs")
	})
	for _, name := range append([]string{"mean"}, traceNames...) {
		b.Run(name, func(b *testing.B) {
			if runs == nil {
				b.Skip("nothing was replayed: run the benchmark published too")
			}
			for b.Loop() { // what is compared was measured above
			}
			b.ReportMetric(0, "ns/op")
			trace := name
			if name == "mean" {
				trace = ""
			}
			b.ReportMetric(meanUnallocated(runs, trace, "default"), "unallocated-%")
			b.ReportMetric(meanUnallocated(runs, trace, "fgd"), "FGD-%")
		})
	}
}

// replayAll is all runs, and how long the slowest trace took with one seed and our own policy.
func replayAll(b *testing.B) (runs []Run, slowest time.Duration) {
	b.Helper()
	replayed := func(s Experiment) []Run {
		more, err := s.Run(b.Context(), func(int, int) {})
		if err != nil {
			b.Fatal(err)
		}
		return more
	}
	for _, name := range traceNames {
		experiment := trace(b, name)
		last := firstSeed + *seeds - 1
		experiment.Policies, experiment.From, experiment.To = []string{"default"}, last, last
		begin := time.Now()
		replayed(experiment)
		slowest = max(slowest, time.Since(begin))
		experiment.Policies, experiment.From = []string{"random", "dotprod", "clustering", "packing", "bestfit", "fgd", "default"}, firstSeed
		runs = append(runs, replayed(experiment)...)
	}
	return runs, slowest
}

// comparison says how far runs are from the published ones.
type comparison struct {
	cells, equal int     // allocated at 100 and at 130 %, to two decimals; random not counted
	fgd, exact   int     // runs of FGD
	randomOff    float64 // mean allocated at 130 % by random, worst trace, in points
}

func (c comparison) report(b *testing.B) {
	b.ReportMetric(float64(c.cells), "cells")
	b.ReportMetric(float64(c.equal), "equal-cells")
	b.ReportMetric(float64(c.fgd), "FGD-runs")
	b.ReportMetric(float64(c.exact), "exact-FGD-runs")
	b.ReportMetric(c.randomOff, "random-off-points")
}

func compareRuns(runs, published []Run) (c comparison) {
	for _, name := range traceNames {
		var got, want float64
		for _, r := range runs {
			i := slices.IndexFunc(published, func(p Run) bool { return p.Trace == r.Trace && p.Policy == r.Policy && p.Seed == r.Seed })
			if i < 0 || r.Trace != name {
				continue
			}
			if p := published[i]; r.Policy == "random" {
				got, want = got+r.Allocated130, want+p.Allocated130
			} else {
				c.add(r, p)
			}
		}
		c.randomOff = max(c.randomOff, math.Abs(got-want)/float64(*seeds))
	}
	return c
}

func (c *comparison) add(r, published Run) {
	equal := 0
	if r.Allocated100 == published.Allocated100 {
		equal++
	}
	if r.Allocated130 == published.Allocated130 {
		equal++
	}
	c.cells, c.equal = c.cells+2, c.equal+equal
	if r.Policy == "fgd" {
		c.fgd++
		c.exact += equal / 2
	}
}

// meanUnallocated is what a policy leaves of the GPUs of a trace at 130 %, of all traces when it is empty.
func meanUnallocated(runs []Run, trace, policy string) float64 {
	sum, n := 0.0, 0
	for _, r := range runs {
		if r.Policy == policy && (trace == "" || r.Trace == trace) {
			sum, n = sum+r.Unallocated130, n+1
		}
	}
	return sum / float64(n)
}

func TestReplaysAreComparedCellByCell(t *testing.T) {
	published := []Run{
		{Trace: "default", Policy: "fgd", Seed: 42, Allocated100: 95.14, Allocated130: 95.29},
		{Trace: "default", Policy: "bestfit", Seed: 42, Allocated100: 93.01, Allocated130: 93.14},
		{Trace: "default", Policy: "random", Seed: 42, Allocated100: 86.17, Allocated130: 87.26},
	}
	runs := []Run{
		{Trace: "default", Policy: "fgd", Seed: 42, Allocated100: 95.14, Allocated130: 95.29, Unallocated130: 4.71},
		{Trace: "default", Policy: "bestfit", Seed: 42, Allocated100: 93.01, Allocated130: 93.15, Unallocated130: 6.85},
		{Trace: "default", Policy: "random", Seed: 42, Allocated100: 86, Allocated130: 88.26, Unallocated130: 11.74},
		{Trace: "default", Policy: "default", Seed: 42, Allocated100: 95.73, Allocated130: 95.83, Unallocated130: 4.17},
	}
	got := compareRuns(runs, published)
	got.randomOff = math.Round(got.randomOff*float64(*seeds)*100) / 100
	if want := (comparison{cells: 4, equal: 3, fgd: 1, exact: 1, randomOff: 1.00}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if ours, theirs := meanUnallocated(runs, "default", "default"), meanUnallocated(runs, "", "fgd"); ours != 4.17 || theirs != 4.71 {
		t.Errorf("unallocated are %v and %v", ours, theirs)
	}
}
