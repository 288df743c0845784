package pack

// usability measures the idle GPUs that are of no use to the popular shapes: what fgd's fragments do, with an eye on what
// comes after the next task.
type usability struct {
	demandParts
	memo memo
}

// nowWeight is how much of the measure is about the next task, to which a GPU is of use wholly if it is of use at all. The
// rest is about a host that is filled with tasks of the shape until its GPUs or its CPU run out.
const nowWeight = 0.8

// useless is what is of no use on a host that has so much free, in thousandths of a GPU, expected over the shapes.
func (p *usability) useless(cpu int64, free []int) float64 { return p.memo.of(cpu, free, p.measure) }

func (p *usability) measure(cpu int64, free []int) float64 {
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
