package pack

import (
	"cmp"
	"slices"
)

// commonShape is a shape with the probability that a task has it.
type commonShape struct {
	Shape
	share float64 // of all tasks; the shares of a list add up to 1
}

// commonShare is the share of all tasks that the common shapes have to cover.
const commonShare = 0.95

// commonShapes returns the most frequent shapes, the most frequent first, until they cover commonShare of the tasks. It
// ignores memory, which is not part of the measure.
func commonShapes(tasks []Shape) []commonShape {
	counts := map[Shape]int{}
	for _, s := range tasks {
		s.MemoryMiB = 0
		counts[s]++
	}
	all := make([]commonShape, 0, len(counts))
	for s, n := range counts {
		all = append(all, commonShape{s, float64(n)})
	}
	slices.SortFunc(all, byCount)
	return normalizeMostCommon(all, float64(len(tasks)))
}

// byCount puts the most frequent shape first; the tie-breakers make the order deterministic.
func byCount(a, b commonShape) int {
	return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Milli, a.Milli),
		cmp.Compare(b.GPUs, a.GPUs), cmp.Compare(b.Models, a.Models))
}

// normalizeMostCommon cuts a list whose shares are counts, and scales the shares to a sum of 1. The order of the divisions is
// the artifact's: its scores are truncated, so the last bit can decide.
func normalizeMostCommon(all []commonShape, tasks float64) []commonShape {
	n, stoodFor := 0, 0.0
	for stoodFor < commonShare*100*tasks/100 {
		stoodFor += all[n].share
		all[n].share /= tasks
		n++
	}
	if n == len(all) {
		return all
	}
	for i := range n {
		all[i].share /= stoodFor / tasks
	}
	return all[:n]
}
