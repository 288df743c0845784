package pack

import (
	"cmp"
	"slices"
)

// popular is a shape and how likely a task is to have it.
type popular struct {
	Shape
	share float64 // of all tasks; the shares of a list add up to 1
}

// enough is the part of the tasks that the popular shapes have to stand for.
const enough = 0.95

// popularShapes are the most popular shapes of the tasks, the most popular first, until they stand for enough of them.
// Memory is left out: it is no part of the measure.
func popularShapes(tasks []Shape) []popular {
	counts := map[Shape]int{}
	for _, s := range tasks {
		s.MemoryMiB = 0
		counts[s]++
	}
	all := make([]popular, 0, len(counts))
	for s, n := range counts {
		all = append(all, popular{s, float64(n)})
	}
	slices.SortFunc(all, byCount)
	return mostPopular(all, float64(len(tasks)))
}

// byCount puts the most popular first. What follows makes the order one and the same in every run.
func byCount(a, b popular) int {
	return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Milli, a.Milli),
		cmp.Compare(b.GPUs, a.GPUs), cmp.Compare(b.Models, a.Models))
}

// mostPopular cuts the list, whose shares are counts, and makes them add up to 1. The order of the divisions is the
// artifact's: its scores are cut off, and the last bit can decide.
func mostPopular(all []popular, tasks float64) []popular {
	n, stoodFor := 0, 0.0
	for stoodFor < enough*100*tasks/100 {
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
