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
	if p.counts == nil {
		p.counts, p.next = map[Shape]int{}, firstLook
	}
	s.MemoryMiB = 0
	p.counts[s]++
	p.tasks++
	if p.tasks < p.next {
		return false
	}
	p.next += p.next / 2
	return true
}

// shapes are the popular shapes so far.
func (p *popularity) shapes() []popular {
	all := make([]popular, 0, len(p.counts))
	for s, n := range p.counts {
		all = append(all, popular{s, float64(n)})
	}
	slices.SortFunc(all, byCount)
	return mostPopular(all, float64(p.tasks))
}
