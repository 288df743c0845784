package pack

// fragmentation measures the idle GPU capacity that a shape cannot use, expected over the common shapes.
type fragmentation struct {
	demandParts
	memo memo
}

// of returns the expected fragmentation of a host with this free capacity, in thousandths of a GPU.
func (f *fragmentation) of(cpu int64, free []int) float64 { return f.memo.of(cpu, free, f.measure) }

// measure adds up by cause before it adds the causes, as the artifact does: the last bit can decide.
func (f *fragmentation) measure(cpu int64, free []int) float64 {
	idle := f.count(free)
	if idle == 0 {
		return 0
	}
	var lacksBoth, lacksGPU, lacksCPU, noGPU, noGPUNoCPU, never float64
	for i := range f.shapes {
		s, room := &f.shapes[i], f.capacities[f.part[i]]
		all := s.share * float64(idle)
		switch fits := cpu >= s.CPU; {
		case s.Milli == 0 && fits:
			noGPU += all
		case s.Milli == 0:
			noGPUNoCPU += all
		case f.never[i]:
			never += all
		case room.gpus >= s.GPUs && fits:
			lacksGPU += s.share * float64(room.useless)
		case room.gpus >= s.GPUs:
			lacksCPU += all
		case fits:
			lacksGPU += all
		default:
			lacksBoth += all
		}
	}
	return lacksBoth + lacksGPU + lacksCPU + noGPU + noGPUNoCPU + never
}
