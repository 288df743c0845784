// Package task runs one task on its host, from its assignment to STOPPED: a fixed order of idempotent steps, and hooks
// for its features.
package task

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/gpu"
	"pinion/node/gpuhealth"
	"pinion/node/gpulock"
	"pinion/node/machine"
	"pinion/node/runtime"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
)

// Config has the dependencies that the runners of a host share. Everything but Sharer, Volumes, MaxStopTimeout, DrainDelay and Hooks is required.
type Config struct {
	Images     runtime.Images
	Containers runtime.Containers
	Execer     runtime.Execer
	Network    runtime.Network
	GPULocks   *gpulock.Locks
	Reporter   Reporter
	// Sharer keeps containers to their shares of GPUs; nil: this host shares none.
	Sharer    gpu.Sharer
	GPUHealth GPUHealth
	// Host is this host as it describes itself now: what it gives to tasks.
	Host func() spec.Host
	// Volumes are the directories of the host that tasks may mount; nil: none.
	Volumes *volume.Roots
	// MaxStopTimeout bounds the time from SIGTERM to SIGKILL, whatever a definition says; 0: it does not.
	MaxStopTimeout time.Duration
	// Dir is the agent's directory. What belongs to a task and goes with it is kept under Dir/tasks/<task id>.
	Dir string
	Log *slog.Logger
	// Boot counts the time limits of tasks.
	Boot machine.BootClock
	// DrainDelay bounds the draining of a task that is to stop; nil: none drains.
	DrainDelay func(taskID string) time.Duration
	// Resolver returns the DNS resolver of tasks, and the domain of names without a dot; nil or empty: the host's.
	Resolver func() (address, domain string)
	// Hooks makes a task's hooks beside the built-in ones; nil: none.
	Hooks func(spec.Assignment) []Hook
}

// Reporter takes the reports of tasks to the pool. Runners never wait for it but for STOPPED.
type Reporter interface {
	// Enqueue queues the latest report of a task; acked is closed when it, or a later one of the task, is recorded.
	Enqueue(spec.TaskReport) (acked <-chan struct{})
	// Discard drops the queued report of a task.
	Discard(taskID string)
}

// Runner carries one task from its assignment to its end, in steps that come in one order and can each be entered with
// any part of their work done already: a task found half-way after a restart of the agent goes through the same steps.
// An event (a container's exit, a request to stop) never interrupts a step: it gives the task its reason to stop, the
// step sees that and returns, and the steps that take down follow.
type Runner struct {
	config      Config
	task        *spec.Task
	def         *spec.TaskDefinition
	dir         taskDir
	containers  containerList // in the definition's order
	hooks       []Hook
	images      *imageHook
	report      report
	rules       spec.ClusterRules // of its cluster
	timeLimit   *timeLimit
	log         *slog.Logger
	supervisors sync.WaitGroup
	forced      *latch // its containers are to be killed, without waiting for their stop timeouts

	Traffic *Traffic  // the task as a target of requests
	Meter   *GPUMeter // how the task uses its GPUs

	updates updates // what the pool has changed of the task since

	mu        sync.Mutex    // guards closing of the two that follow
	stopping  chan struct{} // closed when the task has a reason to stop, see beginStop
	abandoned chan struct{} // closed when the pool does not want reports of the task any more
	logsDone  chan struct{} // closed when no container of the task can write any more
}

// New makes the runner of an assigned task; existing are its containers that were there already.
func New(c Config, a spec.Assignment, existing []runtime.ExistingContainer) *Runner {
	r := &Runner{
		config: c, task: a.Task, def: a.Definition, rules: a.ClusterRules,
		dir: newTaskDir(c.Dir, a.Task.ID), log: c.Log.With("task", a.Task.ID),
		stopping: make(chan struct{}), forced: newLatch(), updates: updates{resolved: newLatch()}, logsDone: make(chan struct{}), abandoned: make(chan struct{}),
	}
	r.report.dir = c.Dir
	r.report.report = spec.TaskReport{TaskID: a.Task.ID, Status: maxStatus(spec.Pending, a.Task.LastStatus), Times: a.Task.Times}
	for i := range a.Definition.Containers {
		r.addContainer(&a.Definition.Containers[i], existing)
	}
	r.timeLimit = newTimeLimit(c.Boot, a.Task.SchedulingOptions().TimeLimit)
	r.Meter = newGPUMeter(r)
	r.Update(a.Task)
	r.Traffic = newTraffic(r)
	r.images = &imageHook{runner: r}
	r.hooks = builtinHooks(r)
	if c.Hooks != nil {
		r.hooks = append(r.hooks, c.Hooks(a)...)
	}
	return r
}

// networkMode is the network mode of a task.
func networkMode(def *spec.TaskDefinition) string {
	return cmp.Or(def.NetworkMode, runtime.NetworkBridge)
}

func (r *Runner) addContainer(def *spec.ContainerDefinition, existing []runtime.ExistingContainer) {
	c := &Container{
		ID: runtime.ContainerID(r.task.ID, def.Name), Def: withImplied(def, r.def.LogRouter()), runner: r, index: len(r.containers),
		started: newLatch(), healthy: newLatch(), exited: newLatch(),
	}
	c.restartedBefore = r.dir.restarts(c.ID)
	report := spec.ContainerReport{Name: def.Name, Status: spec.Pending}
	for _, known := range r.task.Containers {
		if known.Name == def.Name {
			c.GPUs = known.GPUs
			report = spec.ContainerReport{
				Name: def.Name, Status: known.LastStatus, ExitCode: known.ExitCode, Reason: known.Reason,
				RuntimeID: known.RuntimeID, ImageDigest: known.ImageDigest, Bindings: known.Bindings, Address: known.Address, Health: known.Health, PeakMemory: known.PeakMemory, GPUTotals: known.GPUTotals,
			}
		}
	}
	if i := slices.IndexFunc(existing, func(e runtime.ExistingContainer) bool { return e.ID == c.ID }); i >= 0 {
		c.existing = &existing[i]
	}
	r.containers = append(r.containers, c)
	r.report.report.Containers = append(r.report.report.Containers, report)
}

// Run takes the task through its steps. It returns when nothing of the task is left on this host, or when ctx ends; in
// that case containers run on and the next start of the agent restores them. It is called once.
func (r *Runner) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer r.supervisors.Wait()
	defer cancel()
	for _, step := range []func(context.Context){r.restore, r.start, r.waitStop, r.Traffic.drain, r.stop, r.release, r.reportStopped, r.cleanUp} {
		if step(ctx); ctx.Err() != nil {
			return
		}
	}
}

// ID is the task's id.
func (r *Runner) ID() string { return r.task.ID }

// Images lists the image references of the task's containers: as they are defined, which is the name that a pulled image has, and by the
// digests that were resolved.
func (r *Runner) Images() []string {
	var refs []string
	for _, c := range r.containers {
		refs = append(refs, c.Def.Image, c.image())
	}
	return refs
}

// Report is the task's report as it stands.
func (r *Runner) Report() spec.TaskReport { return r.report.snapshot() }

// PullProgress lists the image pulls under way.
func (r *Runner) PullProgress() []spec.Pull { return r.images.progress() }

// LogsDone is closed when the task has no container, and none to come, that may write to its log.
func (r *Runner) LogsDone() <-chan struct{} { return r.logsDone }

// Workload is the task as the user of its GPUs.
func (r *Runner) Workload() gpuhealth.Workload {
	return gpuhealth.Workload{TaskID: r.task.ID, Definition: r.task.Definition, GPUs: r.containers.gpus()}
}

// Abandoned reports whether Abandon was called.
func (r *Runner) Abandoned() bool { return isClosed(r.abandoned) }

// RequestStop asks the task to stop, as its desired status says, with the reason that the task carries.
func (r *Runner) RequestStop(task *spec.Task) {
	r.Traffic.track(task)
	code := task.StopCode
	if code == "" {
		code = spec.StopUserInitiated
	}
	r.beginStop(code, task.StoppedReason)
	if task.ForceStop {
		r.forced.set()
	}
}

// Abandon stops a task that the pool does not know as this host's any more. Nothing is reported from here on.
func (r *Runner) Abandon() {
	r.mu.Lock()
	first := !isClosed(r.abandoned)
	if first {
		close(r.abandoned)
	}
	r.mu.Unlock()
	if first {
		r.config.Reporter.Discard(r.task.ID)
		r.beginStop(spec.StopUserInitiated, "The task is not assigned to this host any more")
	}
}

// beginStop gives the task its reason to stop. The first reason stays.
func (r *Runner) beginStop(code spec.StopCode, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isStopping() {
		return
	}
	r.report.update(func(report *spec.TaskReport) {
		report.StopCode, report.StoppedReason = code, runtime.Truncate(reason)
	})
	close(r.stopping)
}

func (r *Runner) isStopping() bool { return isClosed(r.stopping) }

// untilClosed is ctx until a channel is closed.
func untilClosed(ctx context.Context, closed <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// queueReport hands the report as it stands to the reporter. The channel is closed when the pool has recorded it.
func (r *Runner) queueReport() <-chan struct{} {
	if r.Abandoned() {
		return r.abandoned
	}
	return r.config.Reporter.Enqueue(r.report.snapshot())
}
