package measure

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/node/proxy"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/traffic"
)

// rig is a host whose pool wants everything measured, and which a test has do things.
type rig struct {
	cpu     map[string]time.Duration
	gpus    busy
	targets []proxy.Metrics
	waiting map[string]int
	wanted  metric.Selection
	fails   bool
	reports []metric.Report
	at      []time.Duration // of reports, since the start
	start   time.Time
}

func (r *rig) Usage(id string) (time.Duration, int64, bool) {
	cpu, ok := r.cpu[id]
	return cpu, 3 << 20, ok
}
func (r *rig) Metrics() []proxy.Metrics { return slices.Clone(r.targets) }
func (r *rig) Waiting() map[string]int  { return r.waiting }

func (r *rig) Measure(_ context.Context, _ string, report metric.Report) (metric.Selection, error) {
	if r.fails {
		return metric.Selection{}, errors.New("no leader")
	}
	slices.SortFunc(report.Tasks, func(a, b metric.Task) int { return strings.Compare(a.TaskID+string(a.Name), b.TaskID+string(b.Name)) })
	r.reports, r.at = append(r.reports, report), append(r.at, time.Since(r.start))
	return r.wanted, nil
}

// during has a Meter run in simulated time.
func (r *rig) during(t *testing.T, scenario func()) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r.start = time.Now()
		done := make(chan struct{})
		go func() {
			(&Meter{HostID: "h", Usage: r, GPUs: r.gpus, Proxy: r, Control: r, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
			close(done)
		}()
		scenario()
		cancel()
		<-done
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) last() metric.Report { return r.reports[len(r.reports)-1] }

var target = traffic.TargetID{Group: "g", Task: "web", Container: "c", Port: 80}.String()

// The CPU usage of tasks is since the last report: a task that is new, or has begun again, has none yet.
func TestWhatTasksUse(t *testing.T) {
	r := &rig{wanted: metric.Selection{Tasks: []metric.SelectedTask{{ID: "a"}, {ID: "new"}, {ID: "again"}, {ID: "elsewhere"}}}, cpu: map[string]time.Duration{"a": time.Second, "again": time.Hour, "unasked": 0}}
	r.during(t, func() {
		pass(25 * time.Second)
		r.cpu["a"], r.cpu["again"], r.cpu["new"] = 6*time.Second, time.Second, time.Minute
		pass(10 * time.Second)
	})
	want := []metric.Task{{TaskID: "a", Name: metric.CPU, Value: 512}, {TaskID: "a", Name: metric.Memory, Value: 3}, {TaskID: "again", Name: metric.Memory, Value: 3}, {TaskID: "new", Name: metric.Memory, Value: 3}}
	if got := r.last(); !slices.Equal(got.Tasks, want) || got.Proxy {
		t.Errorf("%+v", got)
	}
}

// Requests count for as long as they were in flight, so that those count that came and went between two looks. What a report that was lost would
// have told is told by the next.
func TestWhatTheProxySends(t *testing.T) {
	idle := proxy.Metrics{Group: "g", Target: "10.0.0.1:80", Requests: 5, Busy: 5}
	r := &rig{wanted: metric.Selection{Proxy: true}, targets: []proxy.Metrics{{Group: "g", Requests: 9}, idle, {Group: "g", Target: target, Requests: 10, Busy: 100}}}
	r.during(t, func() {
		pass(25 * time.Second)
		if got := r.last(); !got.Proxy || len(got.Tasks) > 0 {
			t.Errorf("what was sent before it was asked is told: %+v", got)
		}
		r.fails = true
		r.targets[2].Busy, r.targets[2].Requests = 105, 15
		pass(10 * time.Second)
		r.fails = false
		pass(10 * time.Second)
	})
	want := []metric.Task{{TaskID: "web", Group: "g", Name: metric.Requests, Value: 15}, {TaskID: "web", Group: "g", Name: metric.InFlight, Value: 0.25}}
	if got := r.last(); !slices.Equal(got.Tasks, want) || !got.Proxy {
		t.Errorf("%+v", got)
	}
}

// A request that begins to wait is told of within a second, with what was measured last; one that goes on waiting with the next report.
func TestARequestThatWaitsIsToldOfAtOnce(t *testing.T) {
	r := &rig{wanted: metric.Selection{Proxy: true}, targets: []proxy.Metrics{{Group: "g", Target: target}}}
	r.during(t, func() {
		pass(21 * time.Second)
		r.targets[0].Requests = 10
		pass(10 * time.Second)
		known := len(r.reports)
		r.waiting = map[string]int{"cold": 2}
		pass(time.Second)
		if len(r.reports) != known+1 || !slices.Equal(r.last().Waiting, []metric.Waiting{{Group: "cold", Requests: 2}}) || len(r.last().Tasks) != 1 || !r.last().Proxy {
			t.Fatalf("%+v at %v", r.reports[known:], r.at[known:])
		}
		r.waiting = map[string]int{"cold": 3}
		if pass(2 * time.Second); len(r.reports) != known+1 {
			t.Errorf("it is told again: %v", r.at[known:])
		}
		r.fails, r.waiting = true, map[string]int{"cold": 3, "other": 1}
		pass(time.Second)
		r.fails = false
		if pass(time.Second); len(r.reports) != known+2 || len(r.last().Waiting) != 2 {
			t.Errorf("what did not arrive is not told again at once: %+v", r.reports[known:])
		}
	})
}
