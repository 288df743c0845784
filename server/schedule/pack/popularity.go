package pack

import "slices"

// popularity is learnt from the tasks that arrive, one after the other: nobody knows the workload in advance.
type popularity struct {
	counts map[Shape]int
	tasks  int // with GPUs, that have arrived
	next   int // arrivals at which the shapes are counted anew
}

// firstLook is after how many tasks there is a first idea of what is popular.
const firstLook = 8

// arrived notes a task. It reports true when enough have come since the shapes were last counted to count them anew:
// half as many again, so that counting costs next to nothing in the long run.
func (p *popularity) arrived(s Shape) bool {
	if s.GPUs == 0 {
		return false
	}
	p.note(s, 1)
	if p.next == 0 {
		p.next = firstLook
	}
	if p.tasks < p.next {
		return false
	}
	p.next += p.next / 2
	return true
}

// note counts so many tasks of a shape.
func (p *popularity) note(s Shape, tasks int) {
	if p.counts == nil {
		p.counts = map[Shape]int{}
	}
	s.MemoryMiB = 0
	p.counts[s] += tasks
	p.tasks += tasks
}

// shapes are the popular shapes so far. A shape counts for more the smaller it is, by how many of it a GPU can hold: as a
// pool fills up the large tasks are the first that find no place, and the small ones fill what is left.
func (p *popularity) shapes() []popular {
	all := make([]popular, 0, len(p.counts))
	for s, n := range p.counts {
		all = append(all, popular{s, float64(n) * Whole / float64(s.GPUMilli())})
	}
	slices.SortFunc(all, byCount)
	weight := 0.0
	for _, s := range all { // sorted: the sum of the same numbers in another order can be another
		weight += s.share
	}
	return mostPopular(all, weight)
}
