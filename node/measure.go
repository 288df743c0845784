package node

import (
	"context"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm/metric"
)

// measureInterval is how often tasks are measured.
const measureInterval = 10 * time.Second

// Meter reads what tasks use of this host.
type Meter interface {
	// Usage is the CPU time that a task has taken since it started, and the memory in bytes that it holds; not ok when it does not run here.
	Usage(taskID string) (cpu time.Duration, memory int64, ok bool)
}

// MetricsControl takes what is measured. A report that does not arrive is not repeated: the next one comes soon.
type MetricsControl interface {
	// Measure delivers a report, and returns the tasks to measure from then on.
	Measure(ctx context.Context, hostID string, r metric.Report) (tasks []string, err error)
}

// usage is the CPU time of a task at a moment.
type usage struct {
	at  time.Time
	cpu time.Duration
}

// measureTasks measures the tasks that the pool asks for, until ctx ends.
func (n *Node) measureTasks(ctx context.Context) {
	if n.config.Meter == nil || n.config.Metrics == nil {
		return
	}
	ticker := tick.New(measureInterval)
	defer ticker.Stop()
	var wanted []string
	before := map[string]usage{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		var report metric.Report
		report.Tasks, before = measure(n.config.Meter, wanted, before, time.Now())
		call, cancel := context.WithTimeout(ctx, callTimeout)
		tasks, err := n.config.Metrics.Measure(call, n.config.Host.ID, report)
		cancel()
		if err != nil && ctx.Err() == nil {
			n.config.Log.Debug("what tasks use was not reported", "error", err)
			continue // the heartbeat tells of a pool that cannot be reached
		}
		wanted = tasks
	}
}

// measure reads what tasks use: of the CPU in units, since the usage before, and of the memory in MiB.
func measure(m Meter, tasks []string, before map[string]usage, now time.Time) (measured []metric.Task, after map[string]usage) {
	after = map[string]usage{}
	for _, id := range tasks {
		cpu, memory, ok := m.Usage(id)
		if !ok {
			continue
		}
		after[id] = usage{now, cpu}
		if memory > 0 {
			measured = append(measured, metric.Task{TaskID: id, Name: metric.Memory, Value: float64(memory) / (1 << 20)})
		}
		if old, known := before[id]; known && now.After(old.at) && cpu >= old.cpu {
			const units = 1024 // of a CPU
			measured = append(measured, metric.Task{TaskID: id, Name: metric.CPU, Value: units * float64(cpu-old.cpu) / float64(now.Sub(old.at))})
		}
	}
	return measured, after
}
