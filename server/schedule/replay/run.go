package replay

import (
	"math"

	"pinion/server/schedule/pack"
)

// Run is how much of the GPUs one policy has given away when so much was asked for, in per cent of all of them.
type Run struct {
	Trace          string
	Policy         string
	Seed           int64
	Allocated90    float64
	Allocated95    float64
	Allocated100   float64
	Allocated130   float64
	Unallocated130 float64
}

// Replay places the tasks of a workload strictly in order; one that does not fit is dropped and has arrived all the
// same. The hosts of the workload are used up by it.
func Replay(w Workload, policy pack.Policy) Run {
	packer := pack.NewPacker(w.Hosts, policy)
	var marks samples
	arrived, used := 0, 0
	for _, s := range w.Tasks {
		arrived += s.GPUMilli()
		if _, _, ok := packer.Place(s); ok {
			used += s.GPUMilli()
		}
		marks.add(percent(arrived, w.Capacity), percent(used, w.Capacity))
	}
	return Run{
		Allocated90: marks.at(90), Allocated95: marks.at(95), Allocated100: marks.at(100), Allocated130: marks.at(130),
		Unallocated130: round(100 - marks.at(130)),
	}
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// round to two decimals.
func round(x float64) float64 { return math.RoundToEven(x*100) / 100 }

// samples collect what was allocated, by the rounded per cent of what had been asked for.
type samples struct {
	sum [201]float64
	n   [201]int
}

func (m *samples) add(arrived, allocated float64) {
	k := int(math.RoundToEven(arrived))
	if k < len(m.sum) {
		m.sum[k] += round(allocated)
		m.n[k]++
	}
}

// at is the mean at so many per cent. Where no task arrived just then, it is what the last one before has left.
func (m *samples) at(k int) float64 {
	for k > 0 && m.n[k] == 0 {
		k--
	}
	if m.n[k] == 0 {
		return 0
	}
	return round(m.sum[k] / float64(m.n[k]))
}
