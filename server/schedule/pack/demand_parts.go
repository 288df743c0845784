package pack

// demandParts prepares the common shapes for hosts of one GPU model. Many shapes ask for the same part of a GPU, so a host's
// capacity is counted once per distinct part.
type demandParts struct {
	shapes     []commonShape
	never      []bool         // shapes that cannot run on the model
	part       []int          // of each shape: its place in millis
	millis     []int          // the distinct parts
	capacities []partCapacity // by part: what count found last
}

// partCapacity is a host's capacity for one part.
type partCapacity struct {
	gpus    int // GPUs with at least this part free
	tasks   int // number of parts that fit on these GPUs
	useless int // free capacity of the other GPUs together
}

func newDemandParts(shapes []commonShape, model string) demandParts {
	p := demandParts{shapes: shapes}
	at := map[int]int{}
	for _, s := range shapes {
		if _, has := at[s.Milli]; !has {
			at[s.Milli] = len(p.millis)
			p.millis = append(p.millis, s.Milli)
		}
		p.never = append(p.never, !s.Accepts(model))
		p.part = append(p.part, at[s.Milli])
	}
	p.capacities = make([]partCapacity, len(p.millis))
	return p
}

// count computes the capacity for each part, and returns the idle capacity of all GPUs.
func (p *demandParts) count(free []int) (idle int) {
	for at, milli := range p.millis {
		r := partCapacity{}
		for _, left := range free {
			if left >= milli {
				r.gpus++
				r.tasks += left / max(milli, 1)
			} else {
				r.useless += left
			}
		}
		p.capacities[at] = r
	}
	return sum(free)
}

func sum(free []int) int {
	all := 0
	for _, milli := range free {
		all += milli
	}
	return all
}
