package pack

// MostGPUs is how many GPUs a host can have.
const MostGPUs = 16

// state is what a host has free.
type state struct {
	cpu  int64
	free [MostGPUs]int16
}

// stateOf orders the GPUs, as which one has what makes no difference.
func stateOf(cpu int64, free []int) state {
	s := state{cpu: cpu}
	for n, milli := range free {
		i := n
		for ; i > 0 && s.free[i-1] < int16(milli); i-- {
			s.free[i] = s.free[i-1]
		}
		s.free[i] = int16(milli)
	}
	return s
}

// measured remembers what a measure said of a state: hosts of a kind come to the same ones again and again.
type measured map[state]float64

func (m measured) of(cpu int64, free []int, measure func(cpu int64, free []int) float64) float64 {
	key := stateOf(cpu, free)
	value, known := m[key]
	if !known {
		value = measure(cpu, free)
		m[key] = value
	}
	return value
}
