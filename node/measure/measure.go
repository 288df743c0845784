package measure

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pinion/node/proxy"
	"pinion/packaging/tick"
	"pinion/raftfsm/metric"
)

// measureInterval is the time between two measurements of tasks, waitInterval between two looks for waiting requests.
const (
	measureInterval = 10 * time.Second
	waitInterval    = time.Second
	callTimeout     = 15 * time.Second
)

// Usage reads the usage of tasks on this host.
type Usage interface {
	// Usage is the CPU time that a task has taken since it started, and the memory in bytes that it holds; not ok when it does not run here.
	Usage(taskID string) (cpu time.Duration, memory int64, ok bool)
}

// GPUs reads the utilization of this host's GPUs.
type GPUs interface {
	// Utilization is for how much of the time after this one a GPU has computed, in percent; not ok when that is not known.
	Utilization(uuid string, after time.Time) (percent float64, ok bool)
}

// Proxy is this host's.
type Proxy interface {
	Metrics() []proxy.Metrics
	// Waiting are the requests that wait for a healthy target, by the ids of the groups where some do.
	Waiting() map[string]int
}

// Control takes the measurements.
type Control interface {
	// Measure delivers a report, and returns what to measure from then on.
	Measure(ctx context.Context, hostID string, r metric.Report) (metric.Selection, error)
}

// Meter takes the measurements that the pool asks for. All fields but GPUs are required.
type Meter struct {
	HostID  string
	Address string // host:port that the host advertises: its tasks' ports are there
	Usage   Usage
	GPUs    GPUs // nil: nobody knows how busy GPUs are
	Proxy   Proxy
	Control Control
	Log     *slog.Logger
}

// Run measures until ctx ends. Requests that begin to wait are reported within waitInterval, the rest every measureInterval. A report that does not
// arrive is not repeated: the next one has what it had.
func (m *Meter) Run(ctx context.Context) {
	ticker := tick.New(waitInterval)
	defer ticker.Stop()
	s := series{Meter: m, slow: newSampler(m)}
	var slow sync.WaitGroup
	slow.Go(func() { s.slow.run(ctx) })
	defer slow.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.next(ctx, time.Now()); err != nil && ctx.Err() == nil {
			m.Log.Debug("what tasks use was not reported", "error", err) // the heartbeat tells of a pool that cannot be reached
		}
	}
}

// series holds the earlier measurements of a Meter.
type series struct {
	*Meter
	slow    *sampler
	wanted  metric.Selection
	before  moment
	tried   time.Time       // when everything was measured last
	report  metric.Report   // the last that the pool has got
	waiting map[string]bool // the groups of which it told
}

// moment has the counters at a time.
type moment struct {
	at      time.Time
	cpu     map[string]time.Duration // by task
	targets map[string]proxy.Metrics // by target; nil: the proxy was not asked
}

// next reports when it is time to.
func (s *series) next(ctx context.Context, now time.Time) error {
	waiting := s.Proxy.Waiting()
	report, counted := s.report, s.before // requests that begin to wait are told of with what was measured last
	if now.Sub(s.tried).Abs() >= measureInterval {
		s.tried = now
		report, counted = s.measure(now)
	} else if !s.begins(waiting) {
		return nil
	}
	report.Waiting = nil
	told := map[string]bool{}
	for group, requests := range waiting {
		report.Waiting = append(report.Waiting, metric.Waiting{Group: group, Requests: requests})
		told[group] = true
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	wanted, err := s.Control.Measure(ctx, s.HostID, report)
	if err != nil {
		s.waiting = nil // it is said again at once
		return err
	}
	s.wanted, s.before, s.report, s.waiting = wanted, counted, report, told
	return nil
}

// begins reports whether requests wait in a group of which the pool does not know that.
func (s *series) begins(waiting map[string]int) bool {
	for group := range waiting {
		if !s.waiting[group] {
			return true
		}
	}
	return false
}

// measure measures everything that is wanted, since the moment before.
func (s *series) measure(now time.Time) (r metric.Report, counted moment) {
	counted = moment{at: now, cpu: map[string]time.Duration{}}
	span := now.Sub(s.before.at)
	r.Tasks = s.slow.take(s.wanted.Tasks, now)
	for _, task := range s.wanted.Tasks {
		id := task.ID
		cpu, memory, ok := s.Usage.Usage(id)
		if !ok {
			continue
		}
		counted.cpu[id] = cpu
		if memory > 0 {
			r.Tasks = append(r.Tasks, metric.Task{TaskID: id, Name: metric.Memory, Value: float64(memory) / (1 << 20)})
		}
		if old, known := s.before.cpu[id]; known && span > 0 && cpu >= old {
			const units = 1024 // of a CPU
			r.Tasks = append(r.Tasks, metric.Task{TaskID: id, Name: metric.CPU, Value: units * float64(cpu-old) / float64(span)})
		}
	}
	if s.wanted.Proxy {
		counted.targets = targetsOf(s.Proxy.Metrics())
		if r.Proxy = s.before.targets != nil && span > 0; r.Proxy {
			r.Tasks = append(r.Tasks, sent(counted.targets, s.before.targets, span)...)
		}
	}
	return r, counted
}
