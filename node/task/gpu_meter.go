package task

import (
	"sync"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

// totalsInterval is the time between two reports of a running task's GPU usage: a restart of the agent loses the counts since the last one.
const totalsInterval = 15 * time.Minute

// idlePercent is the utilization up to which a GPU does nothing: drivers tell of 1 % where nothing but a monitor looks at it.
const idlePercent = 1

// GPUMeter adds up how the containers of a task use their GPUs, and stops the task when they do nothing for its idle timeout.
type GPUMeter struct {
	runner *Runner

	mu          sync.Mutex
	totals      []gpuTotals   // by container
	reported    time.Time     // when the totals were reported last
	idleTimeout time.Duration // 0: none
	requeue     bool          // at the timeout the task queues again
	idleSince   time.Time     // zero: the GPUs do something, or nobody knows
	sampled     time.Time     // when the use was measured last
	warned      bool          // the pool knows that the task is going to be stopped
}

// gpuTotals are gpuuse.Totals with their fractions.
type gpuTotals struct{ measured, busy, joules, peakMiB float64 }

func newGPUMeter(r *Runner) *GPUMeter {
	m := &GPUMeter{runner: r, totals: make([]gpuTotals, len(r.containers)), reported: time.Now()}
	for i := range m.totals {
		if known := r.report.container(i).GPUTotals; known != nil {
			m.warned = m.warned || !known.IdleSince.IsZero() // which begins anew here
			m.totals[i] = gpuTotals{float64(known.MeasuredSeconds), float64(known.BusySeconds), float64(known.Joules), float64(known.PeakMemoryMiB)}
		}
	}
	return m
}

// setIdleTimeout replaces the timeout, and whether the task queues again then. The time begins anew with another timeout.
func (m *GPUMeter) setIdleTimeout(timeout time.Duration, requeue bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requeue = requeue
	if timeout != m.idleTimeout {
		m.idleTimeout, m.idleSince = timeout, time.Time{}
	}
}

// Add adds the usage of the GPUs, by their UUIDs, in the time before now. Containers that do not run use none.
func (m *GPUMeter) Add(usage map[string]gpu.Usage, passed time.Duration, now time.Time) {
	if len(m.runner.containers.gpus()) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	warned := m.warned
	if now.Sub(m.sampled) > passed {
		m.idleSince = time.Time{} // nobody knows what was between
	}
	m.sampled = now
	m.followIdleness(usage, now)
	counted := false
	m.runner.report.update(func(report *spec.TaskReport) { counted = m.addTo(report, usage, passed, now) })
	if m.warned != warned || counted && now.Sub(m.reported) >= totalsInterval {
		m.reported = now
		m.runner.queueReport()
	}
	if m.idleTimeout > 0 && !m.idleSince.IsZero() && now.Sub(m.idleSince) >= m.idleTimeout {
		code := spec.StopScheduler
		if m.requeue {
			code = spec.StopPreempted
		}
		m.runner.beginStop(code, spec.IdleReason(m.idleTimeout))
	}
}

// followIdleness follows since when the GPUs do nothing. What nobody knows of may be busy. The pool is told when half of the timeout is over.
func (m *GPUMeter) followIdleness(usage map[string]gpu.Usage, now time.Time) {
	for _, uuid := range m.runner.containers.gpus() {
		if u, ok := usage[uuid]; !ok || u.Utilization == nil || *u.Utilization > idlePercent {
			m.idleSince, m.warned = time.Time{}, false
			return
		}
	}
	if m.idleSince.IsZero() || m.runner.Report().Status != spec.Running {
		m.idleSince = now
	}
	m.warned = m.idleTimeout > 0 && now.Sub(m.idleSince) >= m.idleTimeout/2
}

// addTo adds the use to the totals of a report. It reports whether there was any.
func (m *GPUMeter) addTo(report *spec.TaskReport, usage map[string]gpu.Usage, passed time.Duration, now time.Time) (counted bool) {
	passed = min(passed, now.Sub(report.Times.Started))
	measured := !report.Times.Started.IsZero() && passed > 0
	for _, c := range m.runner.containers {
		if measured && report.Containers[c.index].Status == spec.Running {
			counted = m.count(c, usage, passed) || counted
		}
		if totals := m.totals[c.index].whole(); totals.MeasuredSeconds > 0 {
			if m.warned {
				totals.IdleSince = m.idleSince.UTC()
			}
			report.Containers[c.index].GPUTotals = totals
		}
	}
	return counted
}

// count adds how a container used its GPUs. It reports whether that is known of any.
func (m *GPUMeter) count(c *Container, usage map[string]gpu.Usage, passed time.Duration) (counted bool) {
	for _, uuid := range c.GPUs {
		if u, ok := usage[uuid]; ok && u.Utilization != nil {
			m.totals[c.index].add(&u, passed.Seconds(), shareOf(m.runner.task, c.Def.Name))
			counted = true
		}
	}
	return counted
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
