package pack

// MostGPUs is the largest number of GPUs of a host.
const MostGPUs = 16

// hostState is the free CPU and GPU capacity of a host.
type hostState struct {
	cpu  int64
	free [MostGPUs]int16
}

// hostStateOf sorts the GPUs, because their order makes no difference.
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

// memo caches a measure by host state: similar hosts return to the same states often.
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
