package node_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

var errUnreachable = errors.New("no server can be reached")

// fakeControl is a node.Control that remembers what it was told.
type fakeControl struct {
	rules spec.ClusterRules // of tasks that are assigned now

	mu            sync.Mutex
	down          bool
	failJoins     bool // joins fail
	hosts         map[string]spec.Host
	joins         int
	joined        [][]spec.TaskReport // what each join brought
	tasks         map[string]spec.Assignment
	reports       map[string][]spec.TaskReport // every report, by task
	lastHeartbeat time.Time                    // last heartbeat
	drained       []string                     // that it told
	routing       *traffic.Routing
	index         uint64
	changed       chan struct{}
	reported      chan struct{} // closed and replaced when reports come in
}

func newFakeControl() *fakeControl {
	return &fakeControl{hosts: map[string]spec.Host{}, tasks: map[string]spec.Assignment{}, reports: map[string][]spec.TaskReport{}, index: 1, changed: make(chan struct{}), reported: make(chan struct{})}
}

func (c *fakeControl) Join(_ context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down || c.failJoins {
		return nil, errUnreachable
	}
	c.hosts[host.ID] = host
	c.joins++
	c.joined = append(c.joined, running)
	return c.recordReports(running), nil
}

func (c *fakeControl) Assignments(ctx context.Context, id string, after uint64) ([]spec.Assignment, uint64, error) {
	for {
		c.mu.Lock()
		down, index, changed := c.down, c.index, c.changed
		_, known := c.hosts[id]
		assigned := slices.Collect(maps.Values(c.tasks))
		c.mu.Unlock()
		switch {
		case down:
			return nil, 0, errUnreachable
		case !known:
			return nil, 0, fmt.Errorf("host %s: %w", id, spec.ErrNotFound)
		case index != after:
			return assigned, index, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
	}
}

func (c *fakeControl) Report(_ context.Context, _ string, reports []spec.TaskReport) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return nil, errUnreachable
	}
	return c.recordReports(reports), nil
}

func (c *fakeControl) Heartbeat(_ context.Context, id string, drained []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return errUnreachable
	}
	if _, known := c.hosts[id]; !known {
		return fmt.Errorf("host %s: %w", id, spec.ErrNotFound)
	}
	c.lastHeartbeat, c.drained = time.Now(), drained
	return nil
}

// toldDrained lists the targets to which the host has no request in flight, as its last heartbeat said.
func (c *fakeControl) toldDrained() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.drained)
}

// recordReports records reports as the state does: statuses grow, a stopped task is assigned no more.
func (c *fakeControl) recordReports(reports []spec.TaskReport) (unknown []string) {
	close(c.reported)
	c.reported = make(chan struct{})
	for _, report := range reports {
		a, known := c.tasks[report.TaskID]
		if !known {
			unknown = append(unknown, report.TaskID)
			continue
		}
		c.reports[report.TaskID] = append(c.reports[report.TaskID], report)
		if report.Status.Rank() < a.Task.LastStatus.Rank() {
			continue
		}
		task := *a.Task
		task.LastStatus, task.StopCode, task.StoppedReason, task.Times = report.Status, report.StopCode, report.StoppedReason, report.Times
		task.Targets = traffic.MergeHealth(task.Targets, report.Targets)
		task.Containers = slices.Clone(task.Containers)
		for _, r := range report.Containers {
			mine := &task.Containers[slices.IndexFunc(task.Containers, func(c spec.Container) bool { return c.Name == r.Name })]
			mine.LastStatus, mine.ExitCode, mine.RuntimeID, mine.Bindings, mine.Health, mine.GPUTotals = r.Status, r.ExitCode, r.RuntimeID, r.Bindings, r.Health, r.GPUTotals
		}
		a.Task = &task
		c.tasks[report.TaskID] = a
		if report.Status == spec.Stopped {
			delete(c.tasks, report.TaskID)
			c.change()
		}
	}
	return unknown
}

func (c *fakeControl) change() {
	c.index++
	close(c.changed)
	c.changed = make(chan struct{})
}

// run assigns a task with these containers to the host and answers its id.
func (c *fakeControl) run(id string, containers ...spec.ContainerDefinition) string {
	return c.assign(id, spec.TaskDefinition{Containers: containers})
}

// assign is run with a whole definition. A container's GPUs are given as "gpus" in its DockerLabels.
func (c *fakeControl) assign(id string, definition spec.TaskDefinition, change ...func(*spec.Task)) string {
	task := &spec.Task{ID: id, HostID: hostID, LastStatus: spec.Pending, DesiredStatus: spec.Running}
	for _, f := range change {
		f(task)
	}
	for _, d := range definition.Containers {
		var uuids []string
		if list := d.DockerLabels["gpus"]; list != "" {
			uuids = strings.Split(list, ",")
		}
		task.Containers = append(task.Containers, spec.Container{Name: d.Name, LastStatus: spec.Pending, GPUs: uuids, Share: d.ShareOf(1000)})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks[id] = spec.Assignment{Task: task, Definition: &definition, ClusterRules: c.rules}
	c.change()
	return id
}

// stop is a user's wish.
func (c *fakeControl) stop(id, reason string) { c.stopWith(id, reason, false) }

// forceStop is a user's wish that does not wait for stop timeouts.
func (c *fakeControl) forceStop(id string) { c.stopWith(id, "at once", true) }

func (c *fakeControl) stopWith(id, reason string, force bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.tasks[id]
	task := *a.Task
	task.DesiredStatus, task.StopCode, task.StoppedReason, task.ForceStop = spec.Stopped, spec.StopUserInitiated, reason, force
	a.Task = &task
	c.tasks[id] = a
	c.change()
}

// removeTask removes a task from the state, or everything when id is empty.
func (c *fakeControl) removeTask(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tasks, id)
	if id == "" {
		clear(c.tasks)
		clear(c.hosts)
		c.index = 0
	}
	c.change()
}

func (c *fakeControl) setDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
	c.change()
}

// lastReport is the latest report heard of a task.
func (c *fakeControl) lastReport(id string) spec.TaskReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.reports[id]
	if len(all) == 0 {
		return spec.TaskReport{}
	}
	return all[len(all)-1]
}

// wait waits for a report of the task that the condition holds for, and answers the latest.
func (c *fakeControl) wait(ctx context.Context, id string, holds func(spec.TaskReport) bool) (spec.TaskReport, error) {
	for {
		c.mu.Lock()
		reported := c.reported
		c.mu.Unlock()
		report := c.lastReport(id)
		if holds(report) {
			return report, nil
		}
		select {
		case <-reported:
		case <-ctx.Done():
			return report, ctx.Err()
		}
	}
}

// statuses are the different statuses heard of a task, in order.
func (c *fakeControl) statuses(id string) []spec.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []spec.Status
	for _, r := range c.reports[id] {
		all = append(all, r.Status)
	}
	return slices.Compact(all)
}

func (w *simHost) taskDirs() []string {
	entries, err := os.ReadDir(filepath.Join(w.dir, "tasks"))
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// container is a definition; sidecar one that is not essential; withGPUs one that owns GPUs.
func container(name string) spec.ContainerDefinition {
	return spec.ContainerDefinition{Name: name, Image: name + ":1", Command: []string{name}}
}

func sidecar(name string) spec.ContainerDefinition {
	d, no := container(name), false
	d.Essential = &no
	return d
}

func withGPUs(name, uuids string) spec.ContainerDefinition {
	d := container(name)
	d.DockerLabels = map[string]string{"gpus": uuids}
	return d
}

// code is the exit code of the n-th container in a report, -100 when there is none.
func code(r spec.TaskReport, n int) int {
	if n >= len(r.Containers) || r.Containers[n].ExitCode == nil {
		return -100
	}
	return *r.Containers[n].ExitCode
}

var id = runtime.ContainerID

// decideDigest tells the host which digest the run of the task uses.
func (c *fakeControl) decideDigest(id, digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.tasks[id]
	task := *a.Task
	task.Containers = slices.Clone(task.Containers)
	task.Containers[0].ImageDigest = digest
	a.Task = &task
	c.tasks[id] = a
	c.change()
}
