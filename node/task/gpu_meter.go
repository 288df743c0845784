package task

import (
	"sync"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

// totalsInterval is how often the pool learns how a task that runs uses its GPUs: what was counted since is lost when the agent is restarted.
const totalsInterval = 15 * time.Minute

// GPUMeter adds up how the containers of a task use their GPUs.
type GPUMeter struct {
	runner *Runner

	mu       sync.Mutex
	totals   []gpuTotals // by container
	reported time.Time   // when the totals were reported last
}

// gpuTotals are gpuuse.Totals with their fractions.
type gpuTotals struct{ measured, busy, joules, peakMiB float64 }

func newGPUMeter(r *Runner) *GPUMeter {
	m := &GPUMeter{runner: r, totals: make([]gpuTotals, len(r.containers)), reported: time.Now()}
	for i := range m.totals {
		if known := r.report.container(i).GPUTotals; known != nil {
			m.totals[i] = gpuTotals{float64(known.MeasuredSeconds), float64(known.BusySeconds), float64(known.Joules), float64(known.PeakMemoryMiB)}
		}
	}
	return m
}

// Add counts how the GPUs were used, by their UUIDs, in the time before now. Containers that do not run use none.
func (m *GPUMeter) Add(usage map[string]gpu.Usage, passed time.Duration, now time.Time) {
	if len(m.runner.containers.gpus()) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	counted := false
	m.runner.report.update(func(report *spec.TaskReport) {
		passed = min(passed, now.Sub(report.Times.Started))
		if report.Times.Started.IsZero() || passed <= 0 {
			return
		}
		for _, c := range m.runner.containers {
			if report.Containers[c.index].Status != spec.Running {
				continue
			}
			for _, uuid := range c.GPUs {
				if u, ok := usage[uuid]; ok && u.Utilization != nil {
					m.totals[c.index].add(&u, passed.Seconds(), shareOf(m.runner.task, c.Def.Name))
					report.Containers[c.index].GPUTotals = m.totals[c.index].whole()
					counted = true
				}
			}
		}
	})
	if counted && now.Sub(m.reported) >= totalsInterval {
		m.reported = now
		m.runner.queueReport()
	}
}

func (t *gpuTotals) add(u *gpu.Usage, seconds float64, share *spec.GPUShare) {
	if share != nil {
		seconds *= float64(share.Milli()) / gpuuse.Milli
	} else if u.MemoryUsedMiB != nil {
		t.peakMiB = max(t.peakMiB, *u.MemoryUsedMiB)
	}
	t.measured += seconds
	t.busy += seconds * *u.Utilization / 100
	if u.PowerWatts != nil {
		t.joules += seconds * *u.PowerWatts
	}
}

func (t *gpuTotals) whole() *gpuuse.Totals {
	return &gpuuse.Totals{MeasuredSeconds: int64(t.measured), BusySeconds: int64(t.busy), Joules: int64(t.joules), PeakMemoryMiB: int64(t.peakMiB)}
}
