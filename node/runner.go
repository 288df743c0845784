package node

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

// Network modes of ECS that this host runs.
const (
	networkBridge = "bridge"
	networkHost   = "host"
	networkNone   = "none"
)

// runner carries one task from its assignment to its end, in steps that come in one order and are each safe to enter
// with any part of their work done already: so a task that was found half-way after a restart goes through the very
// same steps. What happens meanwhile (a container's exit, the wish to stop) does not interrupt a step but ends the
// task: the step sees that and returns, and the steps that take down follow.
type runner struct {
	node       *Node
	task       *spec.Task
	def        *spec.TaskDefinition
	mode       string // network mode
	dir        taskDir
	containers []*container // in the definition's order
	log        *slog.Logger

	stopping   chan struct{} // closed when the task has a reason to end; see end
	logsDone   chan struct{} // closed when no container of the task can write any more
	unassigned chan struct{} // closed when the cluster does not want to hear of the task any more
	waiters    sync.WaitGroup
	finished   bool // run has returned; guarded by the node's lock

	mu     sync.Mutex // guards what follows; report is the task as the cluster shall know it
	report spec.TaskReport
	pulls  map[string]spec.Pull
}

// container is one container of the task. One goroutine at a time uses it: the runner's own, one that starts it after
// others, or the one that waits for its end. Everybody may look at the marks.
type container struct {
	id          string
	index       int // in the definition and the report
	def         *spec.ContainerDefinition
	gpus        []string
	existing    *ExistingContainer // what was there of it when the agent started; nil: nothing
	started     bool               // its process has been started, now or before a restart
	startedAt   time.Time          // when that was, the first time; not to be read before begun
	startFailed bool               // its start failed: see to it that nothing is left
	startDone   *latch             // started
	healthy     *latch             // its health check has passed
	exited      chan struct{}      // closed when it has ended and its exit is in the report
}

// markStarted notes that the container's process has been started. Starting it again changes nothing.
func (c *container) markStarted(at time.Time) {
	if !isClosed(c.startDone.done) {
		c.started, c.startedAt = true, at
		c.startDone.close()
	}
}

// newRunner makes the runner of an assigned task; found are its containers that were there already.
func newRunner(n *Node, a spec.Assignment, found []ExistingContainer) *runner {
	r := &runner{
		node: n, task: a.Task, def: a.Definition, mode: a.Definition.NetworkMode,
		dir: newTaskDir(n.config.Dir, a.Task.ID), log: n.config.Log.With("task", a.Task.ID),
		stopping: make(chan struct{}), logsDone: make(chan struct{}), unassigned: make(chan struct{}),
	}
	if r.mode == "" {
		r.mode = networkBridge
	}
	r.report = spec.TaskReport{TaskID: a.Task.ID, Status: maxStatus(spec.Pending, a.Task.LastStatus), Times: a.Task.Times}
	for i := range a.Definition.Containers {
		r.add(&a.Definition.Containers[i], found)
	}
	return r
}

func (r *runner) add(def *spec.ContainerDefinition, found []ExistingContainer) {
	c := &container{
		id: ContainerID(r.task.ID, def.Name), index: len(r.containers), def: def,
		startDone: newLatch(), healthy: newLatch(), exited: make(chan struct{}),
	}
	report := spec.ContainerReport{Name: def.Name, Status: spec.Pending}
	for _, known := range r.task.Containers {
		if known.Name == def.Name {
			c.gpus = known.GPUs
			report = spec.ContainerReport{
				Name: def.Name, Status: known.LastStatus, ExitCode: known.ExitCode, Reason: known.Reason,
				RuntimeID: known.RuntimeID, ImageDigest: known.ImageDigest, Bindings: known.Bindings, Health: known.Health,
			}
		}
	}
	if i := slices.IndexFunc(found, func(f ExistingContainer) bool { return f.ID == c.id }); i >= 0 {
		c.existing = &found[i]
	}
	r.containers = append(r.containers, c)
	r.report.Containers = append(r.report.Containers, report)
}

// run takes the task through its steps. It returns when nothing of the task is left on this host, or when ctx ends;
// in that case containers run on and the next start of the agent takes them up.
func (r *runner) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer r.waiters.Wait()
	defer cancel()
	for _, step := range []func(context.Context){r.restore, r.startTask, r.waitStop, r.stopTask, r.releaseResources, r.reportStopped, r.cleanUp} {
		if step(ctx); ctx.Err() != nil {
			return
		}
	}
}

// waitStop waits for the task's end.
func (r *runner) waitStop(ctx context.Context) {
	select {
	case <-r.stopping:
	case <-ctx.Done():
	}
}

// beginStop gives the task its reason to end. The first reason stays; false when there was one.
func (r *runner) beginStop(code spec.StopCode, reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isStopping() {
		return false
	}
	r.report.StopCode, r.report.StoppedReason = code, truncate(reason, maxReason)
	close(r.stopping)
	return true
}

func (r *runner) isStopping() bool { return isClosed(r.stopping) }

// requestStop is the cluster's wish that the task stops, with the reason its user gave.
func (r *runner) requestStop(task *spec.Task) {
	code := task.StopCode
	if code == "" {
		code = spec.StopUserInitiated
	}
	r.beginStop(code, task.StoppedReason)
}

// abandon ends a task that the cluster does not know as this host's any more. Nothing is reported from here on.
func (r *runner) abandon() {
	r.mu.Lock()
	first := !isClosed(r.unassigned)
	if first {
		close(r.unassigned)
	}
	r.mu.Unlock()
	if first {
		r.node.reporter.discard(r.task.ID)
		r.beginStop(spec.StopUserInitiated, "The task is not assigned to this host any more")
	}
}

// exited records how a container ended, and ends the task when it was essential or the last one.
func (r *runner) exited(c *container, e Exit) {
	r.mu.Lock()
	report := &r.report.Containers[c.index]
	report.Status = spec.Stopped
	e.fillReport(report)
	if c.def.IsEssential() && r.report.Times.ExecutionStopped.IsZero() {
		r.report.Times.ExecutionStopped = e.At.UTC()
	}
	close(c.exited)
	r.mu.Unlock()
	if c.def.IsEssential() || r.allExited() {
		r.beginStop(spec.StopEssentialExited, "Essential container in task exited")
		return
	}
	r.queueReport()
}

func (r *runner) allExited() bool {
	return !slices.ContainsFunc(r.containers, func(c *container) bool { return !isClosed(c.exited) })
}

// supervise stays with a container that was started until it has ended for good, whenever that is, and records its exit.
func (r *runner) supervise(ctx context.Context, c *container, started time.Time) {
	r.waiters.Go(func() {
		for {
			exit, err := r.monitor(ctx, c, started)
			if err != nil {
				return
			}
			if !r.maybeRestart(ctx, c, exit, started) {
				if ctx.Err() == nil {
					r.exited(c, exit)
				}
				return
			}
			started = time.Now()
		}
	})
}

// monitor watches over the container's health until it ends.
func (r *runner) monitor(ctx context.Context, c *container, started time.Time) (exit Exit, err error) {
	var health sync.WaitGroup
	defer health.Wait()
	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	health.Go(func() { r.monitorHealth(watch, c, started) })
	err = retry(ctx, r.log, "wait for container "+c.def.Name, func(ctx context.Context) (err error) {
		exit, err = r.node.config.Containers.Wait(ctx, c.id)
		return exitIfNotFound(&exit, err)
	})
	return exit, err
}

// updateReport changes the report. A status never goes back.
func (r *runner) updateReport(change func(*spec.TaskReport)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.report.Status
	change(&r.report)
	r.report.Status = maxStatus(before, r.report.Status)
}

// reportSnapshot is the report as it stands, safe to keep.
func (r *runner) reportSnapshot() spec.TaskReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.report
	report.Containers = slices.Clone(report.Containers)
	return report
}

// containerReport is the container's part of the report as it stands.
func (r *runner) containerReport(c *container) spec.ContainerReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report.Containers[c.index]
}

// queueReport hands the report to the reporter, which closes the channel when it is heard.
func (r *runner) queueReport() <-chan struct{} {
	if isClosed(r.unassigned) {
		return r.unassigned
	}
	return r.node.reporter.enqueue(r.reportSnapshot())
}

// recordPull takes note of how far a pull has come.
func (r *runner) recordPull(p spec.Pull) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pulls == nil {
		r.pulls = map[string]spec.Pull{}
	}
	r.pulls[p.Image] = p
}

// pullProgress lists the pulls under way by image.
func (r *runner) pullProgress() []spec.Pull {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []spec.Pull
	for _, image := range slices.Sorted(maps.Keys(r.pulls)) {
		all = append(all, r.pulls[image])
	}
	return all
}

func utcNow() time.Time { return time.Now().UTC() }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
