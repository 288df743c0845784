package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm/spec"
)

const (
	// startTimeout bounds one Containers.Start.
	startTimeout = 3 * time.Minute
	// pullReportDelay is how long a pull may take before the cluster is told that it has begun. An image that is there
	// already is not worth a log entry in the middle of a start.
	pullReportDelay = 250 * time.Millisecond
)

// startResources is what containers need before they start.
type startResources struct {
	volumePaths map[string]string
	images      []Image      // per container of the task; only those that were missing are filled
	attachments []Attachment // likewise
}

// startTask starts the containers that are missing, and says RUNNING when all have started.
func (r *runner) startTask(ctx context.Context) {
	missing := slices.DeleteFunc(slices.Clone(r.containers), func(c *container) bool { return c.started })
	if len(missing) > 0 && !r.isStopping() {
		if err := r.startContainers(ctx, missing); err != nil {
			r.failStart(ctx, err)
			return
		}
	}
	if !slices.ContainsFunc(r.containers, func(c *container) bool { return !c.started }) {
		r.reportRunning()
	}
}

func (r *runner) startContainers(ctx context.Context, missing []*container) error {
	resources, err := r.prestart(ctx, missing)
	if err != nil {
		return err
	}
	return r.startByDependency(ctx, missing, resources)
}

// reportRunning records that every container has started, also when the task is ending already: it has run.
func (r *runner) reportRunning() {
	ending := r.isStopping()
	r.updateReport(func(report *spec.TaskReport) {
		if report.Times.Started.IsZero() {
			report.Times.Started = r.lastStart()
		}
		if !ending {
			report.Status = spec.Running
		}
	})
	if !ending && r.task.LastStatus != spec.Running {
		r.queueReport()
	}
}

// lastStart is when the last container started: a moment ago, or before a restart of the agent if all were found.
func (r *runner) lastStart() time.Time {
	var last time.Time
	for _, c := range r.containers {
		if c.existing == nil || c.existing.StartedAt.IsZero() {
			return utcNow()
		}
		if c.existing.StartedAt.After(last) {
			last = c.existing.StartedAt
		}
	}
	return last.UTC()
}

// failStart ends a task that cannot be started. An error that only says that the start was broken off is no reason.
func (r *runner) failStart(ctx context.Context, err error) {
	if ctx.Err() != nil || r.isStopping() {
		return
	}
	r.log.Warn("task cannot be started", "err", err)
	var why *startError
	if errors.As(err, &why) && why.container != nil {
		r.updateReport(func(report *spec.TaskReport) {
			report.Containers[why.container.index].Reason = truncate(err.Error(), maxReason)
		})
	}
	r.beginStop(spec.StopFailedToStart, err.Error())
}

// prestart does at the same time everything that has to be there before the first start: images, networks, volumes,
// and the GPUs, which another task may still be leaving. It is broken off when the task ends.
func (r *runner) prestart(ctx context.Context, missing []*container) (*startResources, error) {
	ctx, cancel := r.untilStopping(ctx)
	defer cancel()
	mounts, err := r.dir.createVolumes(r.def.Volumes)
	if err != nil {
		return nil, newStartError(kindInvalidVolume, nil, err)
	}
	resources := &startResources{volumePaths: mounts, images: make([]Image, len(r.containers)), attachments: make([]Attachment, len(r.containers))}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return r.acquireGPUs(ctx, missing) })
	work.Go(func() error { return r.pullImages(ctx, missing, resources) })
	for _, c := range missing {
		work.Go(func() error { return r.attachNetwork(ctx, c, resources) })
	}
	return resources, work.Wait()
}

func (r *runner) untilStopping(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// acquireGPUs waits until the GPUs of the containers are this task's and nobody else's.
func (r *runner) acquireGPUs(ctx context.Context, missing []*container) error {
	var uuids []string
	for _, c := range missing {
		uuids = append(uuids, c.gpus...)
	}
	unchecked, err := r.node.gpuLock.acquire(ctx, r.task.ID, uuids)
	if err != nil {
		return err
	}
	return r.node.gpuLock.waitIdle(ctx, unchecked, func(reason string) {
		r.log.Warn("task waits for its GPUs", "reason", reason)
	})
}

// pullImages brings each image once.
func (r *runner) pullImages(ctx context.Context, missing []*container, p *startResources) error {
	r.updateReport(func(report *spec.TaskReport) {
		if report.Times.PullStarted.IsZero() {
			report.Times.PullStarted = utcNow()
		}
	})
	notice := time.AfterFunc(pullReportDelay, func() { r.queueReport() })
	defer notice.Stop()
	byRef := map[string][]*container{}
	for _, c := range missing {
		byRef[c.def.Image] = append(byRef[c.def.Image], c)
	}
	pulls, ctx := errgroup.WithContext(ctx)
	for ref, users := range byRef {
		pulls.Go(func() error { return r.pullImage(ctx, ref, users, p) })
	}
	err := pulls.Wait()
	r.mu.Lock()
	r.pulls = nil
	r.mu.Unlock()
	if err == nil {
		r.updateReport(func(report *spec.TaskReport) {
			if report.Times.PullStopped.IsZero() { // not again when a container is started again
				report.Times.PullStopped = utcNow()
			}
		})
	}
	return err
}

func (r *runner) pullImage(ctx context.Context, ref string, users []*container, p *startResources) error {
	image, err := r.node.config.Images.Pull(ctx, ref, r.recordPull)
	if err != nil {
		return newStartError(kindCannotPull, users[0], err)
	}
	for _, c := range users {
		p.images[c.index] = image
	}
	return nil
}

// attachNetwork gives the container its network and the files it resolves names with.
func (r *runner) attachNetwork(ctx context.Context, c *container, p *startResources) error {
	// The directory comes first: it is what tells a later start of the agent that there may be a network to clean up.
	_, err := r.dir.createContainerDir(c.id)
	if err != nil {
		return newStartError(kindCannotCreate, c, err)
	}
	attachment := Attachment{Namespace: r.mode}
	switch r.mode {
	case networkBridge:
		attachment, err = r.node.config.Network.Attach(ctx, c.id, c.def.PortMappings)
	case networkHost, networkNone:
	default:
		err = fmt.Errorf("network mode %q is not supported; use bridge, host or none", r.mode)
	}
	p.attachments[c.index] = attachment
	return newStartError(kindNetworking, c, err)
}

// startAndSupervise runs one container and stays with it, unless the task is ending.
func (r *runner) startAndSupervise(ctx context.Context, c *container, p *startResources) error {
	if r.isStopping() || ctx.Err() != nil {
		return nil
	}
	if err := r.startContainer(ctx, c, p); err != nil {
		return err
	}
	r.supervise(ctx, c, time.Now())
	return nil
}

// startContainer runs one container. The call is not broken off when the agent is told to leave: half a start helps nobody.
func (r *runner) startContainer(ctx context.Context, c *container, p *startResources) error {
	containerSpec, err := r.containerSpec(c, p)
	if err != nil {
		return newStartError(kindCannotCreate, c, err)
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	err = r.node.config.Containers.Start(call, containerSpec)
	if errors.Is(err, ErrExists) {
		r.log.Warn("container was there already, it is taken up", "container", c.def.Name)
		err = nil
	}
	if err != nil {
		c.startFailed = true
		return newStartError(startErrorKind(err), c, err)
	}
	r.updateReport(func(report *spec.TaskReport) {
		containerReport := &report.Containers[c.index]
		containerReport.Status, containerReport.RuntimeID, containerReport.ImageDigest = spec.Running, c.id, containerSpec.Image.Digest
		containerReport.Bindings = p.attachments[c.index].Bindings
	})
	c.markStarted(time.Now())
	return nil
}

// containerSpec decides everything about the container.
func (r *runner) containerSpec(c *container, p *startResources) (ContainerSpec, error) {
	def := *c.def
	if def.Hostname == "" && r.mode != networkHost {
		def.Hostname = r.task.ID[:min(12, len(r.task.ID))]
	}
	def.MountPoints = r.mountPoints(c.def)
	dir, err := r.dir.createContainerDir(c.id)
	if err != nil {
		return ContainerSpec{}, err
	}
	attachment := p.attachments[c.index]
	files, err := writeEtcFiles(dir, r.mode, &def, attachment.Address)
	if err != nil {
		return ContainerSpec{}, err
	}
	return ContainerSpec{
		ID: c.id, Task: r.task, Def: &def, TaskDef: r.def, Image: p.images[c.index], GPUs: c.gpus,
		Env: environment(def.Environment, c.gpus), Network: attachment.Namespace, VolumePaths: p.volumePaths,
		HostsFile: files.hosts, ResolvFile: files.resolv,
	}, nil
}

// mountPoints are the container's own, and those that it takes from others, to be read only if it asks for that.
func (r *runner) mountPoints(def *spec.ContainerDefinition) []spec.MountPoint {
	mounts := slices.Clone(def.MountPoints)
	for _, from := range def.VolumesFrom {
		if source := r.containerNamed(from.SourceContainer); source != nil {
			for _, m := range source.def.MountPoints {
				m.ReadOnly = m.ReadOnly || from.ReadOnly
				mounts = append(mounts, m)
			}
		}
	}
	return mounts
}
