package pack

// MostGPUs is how many GPUs a host can have.
const MostGPUs = 16

// hostState is what a host has free.
type hostState struct {
	cpu  int64
	free [MostGPUs]int16
}

// hostStateOf orders the GPUs, as which one has what makes no difference.
func hostStateOf(cpu int64, free []int) hostState {
	s := hostState{cpu: cpu}
	for n, milli := range free {
		i := n
		for ; i > 0 && s.free[i-1] < int16(milli); i-- {
			s.free[i] = s.free[i-1]
		}
		s.free[i] = int16(milli)
	}
	return s
}

// memo remembers what a measure said of a state: hosts of a kind come to the same ones again and again.
type memo map[hostState]float64

func (m memo) of(cpu int64, free []int, measure func(cpu int64, free []int) float64) float64 {
	key := hostStateOf(cpu, free)
	value, known := m[key]
	if !known {
		value = measure(cpu, free)
		m[key] = value
	}
	return value
}
