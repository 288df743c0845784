package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// testAgent does what an agent does of talking: join, listen, report, beat. It runs nothing.
type testAgent struct {
	host spec.Host

	mu       sync.Mutex
	running  map[string]spec.Status // what it would run, by task
	disowned []string
	joins    int
	said     []string // what happened, in order

	cancel context.CancelFunc
	loops  sync.WaitGroup
}

func newAgent(h *testHost) *testAgent {
	host := spec.Host{ID: h.cfg.HostID, Name: h.cfg.Name, Cluster: spec.DefaultCluster, Address: h.where, CPU: 1 << 20, MemoryMiB: 1 << 20, Location: h.dir, Starts: h.cfg.Starts}
	for i := range 8 {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: fmt.Sprintf("GPU-%d-%d", h.n, i), Index: i, Health: gpu.Healthy})
	}
	return &testAgent{host: host, running: map[string]spec.Status{}}
}

func (a *testAgent) start(m *Member) {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.loops.Go(func() { a.stayKnown(ctx, m) })
	a.loops.Go(func() { a.listen(ctx, m) })
}

func (a *testAgent) stop() {
	a.cancel()
	a.loops.Wait()
}

func (a *testAgent) record(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, what)
}

func (a *testAgent) history() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.said)
}

// refusals are the joins that were refused because another process is the host.
func (a *testAgent) refusals() []string {
	return slices.DeleteFunc(a.history(), func(what string) bool { return !strings.HasPrefix(what, "refused: ") })
}

func (a *testAgent) runs(task string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.running[task] != ""
}

func (a *testAgent) stayKnown(ctx context.Context, m *Member) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	joined := false
	for {
		if !joined {
			joined = a.join(ctx, m) == nil
		} else if err := m.Agent().Heartbeat(ctx, a.host.ID, nil); errors.Is(err, spec.ErrNotFound) {
			a.record("lost")
			joined = a.join(ctx, m) == nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *testAgent) join(ctx context.Context, m *Member) error {
	a.mu.Lock()
	var reports []spec.TaskReport
	for id, status := range a.running {
		reports = append(reports, spec.TaskReport{TaskID: id, Status: status})
	}
	a.mu.Unlock()
	unknown, err := m.Agent().Join(ctx, a.host, reports)
	if err != nil {
		if errors.Is(err, spec.ErrHostElsewhere) {
			a.record("refused: " + err.Error())
		}
		return err
	}
	a.record(fmt.Sprintf("joined with %d", len(reports)))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.joins++
	a.disowned = append(a.disowned, unknown...)
	for _, id := range unknown {
		delete(a.running, id)
	}
	return nil
}

// listen takes what is assigned and reports it RUNNING.
func (a *testAgent) listen(ctx context.Context, m *Member) {
	var after uint64
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		list, index, err := m.Agent().Assignments(ctx, a.host.ID, after)
		if errors.Is(err, spec.ErrNotFound) {
			after = 0
		}
		if err == nil && index < after {
			a.record("the past")
		}
		if err == nil {
			after = index
			a.apply(ctx, m, list)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (a *testAgent) apply(ctx context.Context, m *Member, list []spec.Assignment) {
	var reports []spec.TaskReport
	a.mu.Lock()
	assigned := map[string]bool{}
	for _, assignment := range list {
		id := assignment.Task.ID
		assigned[id] = true
		if a.running[id] == "" {
			a.said = append(a.said, "given "+id)
			a.running[id] = spec.Running
			reports = append(reports, spec.TaskReport{TaskID: id, Status: spec.Running})
		}
		if assignment.Task.DesiredStatus == spec.Stopped {
			reports = append(reports, spec.TaskReport{TaskID: id, Status: spec.Stopped})
		}
	}
	for id := range a.running {
		if !assigned[id] {
			delete(a.running, id)
		}
	}
	a.mu.Unlock()
	for len(reports) > 0 && ctx.Err() == nil {
		if _, err := m.Agent().Report(ctx, a.host.ID, reports); err == nil {
			return
		}
	}
}
