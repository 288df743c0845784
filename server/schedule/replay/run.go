package replay

import (
	"math"

	"pinion/server/schedule/pack"
)

// Run is the allocated GPU capacity of one policy by the arrived demand, both in per cent of the total capacity.
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

// Replay places the tasks of a workload strictly in order; a task that does not fit is dropped but counts as arrived. It
// modifies the hosts of the workload.
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
		Unallocated130: twoDecimals(100 - marks.at(130)),
	}
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// twoDecimals rounds to two decimals.
func twoDecimals(x float64) float64 { return math.RoundToEven(x*100) / 100 }

// samples collects the allocated capacity by the arrived demand, rounded to per cent.
type samples struct {
	sum [201]float64
	n   [201]int
}

func (m *samples) add(arrived, allocated float64) {
	k := int(math.RoundToEven(arrived))
	if k < len(m.sum) {
		m.sum[k] += twoDecimals(allocated)
		m.n[k]++
	}
}

// at returns the mean at k per cent, or the last value before it when no task arrived at k per cent.
func (m *samples) at(k int) float64 {
	for k > 0 && m.n[k] == 0 {
		k--
	}
	if m.n[k] == 0 {
		return 0
	}
	return twoDecimals(m.sum[k] / float64(m.n[k]))
}
