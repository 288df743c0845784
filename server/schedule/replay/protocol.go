package replay

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"

	"pinion/server/schedule/pack"
)

// Workload is the workload drawn from a trace with one seed.
type Workload struct {
	Hosts    []pack.Host  // in the order that decides among equals
	Tasks    []pack.Shape // in the order in which they arrive
	Recorded []pack.Shape // the tasks of the trace, as they were recorded
	Capacity int          // of all GPUs, thousandths
	Draw     func(int) int
}

// Draw shuffles hosts and tasks and adds randomly drawn tasks of the trace until the demand is `inflate` times the capacity of
// all GPUs; from a trace with a higher demand it removes random tasks. The same seed gives the same workload.
func Draw(hosts []Host, tasks []Task, seed int64, inflate float64) (Workload, error) {
	w := Workload{}
	for _, h := range hosts {
		w.Capacity += h.GPUs * pack.Whole
	}
	if w.Capacity == 0 {
		return w, fmt.Errorf("none of the %d hosts has a GPU", len(hosts))
	}
	sorted := slices.Clone(tasks)
	slices.SortStableFunc(sorted, func(a, b Task) int { return cmp.Compare(a.Name, b.Name) })
	asked := 0
	for _, t := range sorted {
		w.Recorded = append(w.Recorded, t.Shape)
		asked += t.GPUMilli()
	}
	if asked == 0 {
		return w, fmt.Errorf("none of the %d tasks asks for a GPU", len(tasks))
	}
	rng := rand.New(rand.NewSource(seed))
	w.Draw = rng.Intn
	rng.Int()
	w.Tasks = slices.Clone(w.Recorded)
	rng.Shuffle(len(w.Tasks), func(i, j int) { w.Tasks[i], w.Tasks[j] = w.Tasks[j], w.Tasks[i] })
	w.tune(rng, asked, inflate*float64(w.Capacity))
	for range 10 {
		rng.Float64()
	}
	w.order(rng, hosts)
	return w, nil
}

// tune adds or removes tasks until their demand is `wanted` thousandths of a GPU.
func (w *Workload) tune(rng *rand.Rand, asked int, wanted float64) {
	if float64(asked) < wanted {
		w.add(rng, asked, wanted)
		return
	}
	for float64(asked) > wanted {
		i := rng.Intn(len(w.Tasks))
		asked -= w.Tasks[i].GPUMilli()
		w.Tasks = slices.Delete(w.Tasks, i, i+1)
	}
}

// add goes on after the wanted sum is reached, until a task with a GPU would exceed it. A task counts with its part of one
// GPU, even when it has several GPUs, as in the published runs.
func (w *Workload) add(rng *rand.Rand, asked int, wanted float64) {
	for {
		s := w.Recorded[rng.Intn(len(w.Recorded))]
		if float64(asked+s.Milli) > wanted {
			return
		}
		w.Tasks = append(w.Tasks, s)
		asked += s.GPUMilli()
	}
}

// order sorts the hosts by their names after it has put a random number before each name.
func (w *Workload) order(rng *rand.Rand, hosts []Host) {
	sorted := slices.Clone(hosts)
	slices.SortStableFunc(sorted, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	for i, number := range rng.Perm(len(sorted)) {
		sorted[i].Name = fmt.Sprintf("%04d-%s", number, sorted[i].Name)
	}
	slices.SortStableFunc(sorted, func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	for _, h := range sorted {
		free := make([]int, h.GPUs)
		for i := range free {
			free[i] = pack.Whole
		}
		w.Hosts = append(w.Hosts, pack.Host{CPU: h.CPU, MemoryMiB: h.MemoryMiB, Free: free, Model: h.Model})
	}
}
