package task

import (
	"context"
	"errors"
	"slices"

	"pinion/node/runtime"
	"pinion/packaging/failpoint"
	"pinion/raftfsm/isolation"
	"pinion/raftfsm/spec"
)

// start is the step that starts the containers that are missing, and reports RUNNING when all have started.
func (r *Runner) start(ctx context.Context) {
	missing := slices.DeleteFunc(slices.Clone(r.containers), func(c *Container) bool { return c.started.happened() })
	if len(missing) > 0 && !r.isStopping() {
		if err := r.startContainers(ctx, missing); err != nil {
			r.failStart(ctx, err)
			return
		}
	}
	if !slices.ContainsFunc(r.containers, func(c *Container) bool { return !c.started.happened() }) {
		r.reportRunning()
	}
}

func (r *Runner) startContainers(ctx context.Context, missing []*Container) error {
	starts, err := r.prestart(ctx, missing)
	if err != nil {
		return err
	}
	return r.startByDependency(ctx, missing, starts)
}

// reportRunning records that every container has started, also when the task is stopping already: it has run.
func (r *Runner) reportRunning() {
	stopping := r.isStopping()
	if err := r.timeLimit.start(r.dir); err != nil {
		r.log.Warn("cannot keep since when the task runs; its time limit would count anew after a restart of pinion", "error", err)
	}
	r.report.update(func(report *spec.TaskReport) {
		if report.Times.Started.IsZero() {
			report.Times.Started = r.containers.lastStart()
		}
		if !stopping {
			report.Status = spec.Running
		}
	})
	failpoint.Reached(failpoint.RunningKnown)
	if !stopping && r.task.LastStatus != spec.Running {
		r.queueReport()
	}
}

// failStart stops a task that cannot be started. An error that only says that the start was broken off is no reason.
func (r *Runner) failStart(ctx context.Context, err error) {
	if ctx.Err() != nil || r.isStopping() {
		return
	}
	r.log.Warn("task cannot be started", "error", err)
	var cause *StartError
	if errors.As(err, &cause) && cause.Container != nil {
		cause.Container.updateReport(func(report *spec.ContainerReport) { report.Reason = runtime.Truncate(err.Error()) })
	}
	r.beginStop(spec.StopFailedToStart, err.Error())
}

// newStarts begins the specifications of containers: what does not need a hook.
func (r *Runner) newStarts(containers []*Container) ([]*Start, error) {
	host := r.config.Host()
	ids, err := r.dir.takeIDs(r.rules.UserNamespaces || host.UserNamespaces == spec.UserNamespacesRequired)
	if err != nil {
		return nil, startError(kindCannotCreate, nil, err)
	}
	rules := r.rules
	rules.UserNamespaces = rules.UserNamespaces && !ids.IsZero()
	if err := checkIsolation(host, spec.Assignment{Task: r.task, Definition: r.def, ClusterRules: rules}); err != nil {
		return nil, err
	}
	volumes, err := r.dir.createVolumes(r.def.Volumes, r.config.Volumes)
	if err != nil {
		return nil, startError(kindInvalidVolume, nil, err)
	}
	var starts []*Start
	for _, c := range containers {
		// The directory comes before the network: it tells a later start of the agent what there is to clean up.
		dir, err := r.dir.createContainerDir(c.ID)
		if err != nil {
			return nil, startError(kindCannotCreate, c, err)
		}
		failpoint.Reached(failpoint.TaskDirMade)
		def := *c.Def
		if def.Hostname == "" && c.networkMode() != runtime.NetworkHost {
			def.Hostname = r.task.ID[:min(12, len(r.task.ID))]
		}
		def.MountPoints = r.containers.mountPoints(c.Def)
		starts = append(starts, &Start{Container: c, Dir: dir, Spec: runtime.ContainerSpec{
			ID: c.ID, Task: r.task, Def: &def, TaskDef: r.def, GPUs: c.GPUs, Shared: shareOf(r.task, c.Def.Name) != nil, Network: c.networkMode(), IDs: ids, Volumes: volumes,
		}})
	}
	return starts, nil
}

// checkIsolation holds an assignment against the options of this host for tasks. The scheduler has asked the same, but a host does not take its word.
func checkIsolation(host spec.Host, a spec.Assignment) error {
	if refusal := isolation.RequirementsOf(a.Definition).Under(a.ClusterRules).RefusedBy(&host, a.Task.ByAdmin); refusal != "" {
		return startError(KindResource, nil, errors.New(refusal))
	}
	if refusal := spec.SharingRefusal(&host, a.Task, a.Definition); refusal != "" {
		return startError(KindResource, nil, errors.New(refusal))
	}
	return nil
}
