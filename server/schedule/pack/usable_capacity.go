package pack

// usableCapacity measures the idle GPU capacity that the common shapes cannot use, like fgd's fragmentation, but also for the
// tasks after the next one.
type usableCapacity struct {
	demandParts
	memo memo
}

// nowWeight is the weight of the next task in the measure, for which a GPU is fully usable or not at all. The rest is the
// weight of a host filled with tasks of the shape until its GPUs or its CPU run out.
const nowWeight = 0.8

// useless returns the unusable idle capacity of a host with this free CPU and GPU capacity, in thousandths of a GPU, expected
// over the common shapes.
func (p *usableCapacity) useless(cpu int64, free []int) float64 {
	return p.memo.of(cpu, free, p.measure)
}

func (p *usableCapacity) measure(cpu int64, free []int) float64 {
	idle := p.count(free)
	if idle == 0 {
		return 0
	}
	useful := 0.0
	for i := range p.shapes {
		s, room := &p.shapes[i], p.capacities[p.part[i]]
		if p.never[i] || room.gpus < s.GPUs {
			continue
		}
		now, later := 0.0, float64(room.tasks/s.GPUs*s.GPUMilli())
		if cpu >= s.CPU {
			now = float64(idle - room.useless)
		}
		if s.CPU > 0 {
			later = min(later, float64(cpu)*float64(s.GPUMilli())/float64(s.CPU))
		}
		useful += s.share * (nowWeight*now + (1-nowWeight)*later)
	}
	return float64(idle) - useful
}
