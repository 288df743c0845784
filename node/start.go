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
	// pullNotice is how long a pull may take before the cluster is told that it has begun. An image that is there
	// already is not worth a log entry in the middle of a start.
	pullNotice = 250 * time.Millisecond
)

// prepared is what containers need before they start.
type prepared struct {
	mounts map[string]string
	images []Image      // per container of the task; only those that were missing are filled
	places []Attachment // likewise
}

// bringUp starts the containers that are missing, and says RUNNING when all have started.
func (r *runner) bringUp(ctx context.Context) {
	missing := slices.DeleteFunc(slices.Clone(r.containers), func(c *container) bool { return c.started })
	if len(missing) > 0 && !r.ending() {
		if err := r.startAll(ctx, missing); err != nil {
			r.fail(ctx, err)
			return
		}
	}
	if !slices.ContainsFunc(r.containers, func(c *container) bool { return !c.started }) {
		r.running()
	}
}

func (r *runner) startAll(ctx context.Context, missing []*container) error {
	ready, err := r.prepare(ctx, missing)
	if err != nil {
		return err
	}
	return r.startInOrder(ctx, missing, ready)
}

// running records that every container has started, also when the task is ending already: it has run.
func (r *runner) running() {
	ending := r.ending()
	r.update(func(report *spec.TaskReport) {
		if report.Times.Started.IsZero() {
			report.Times.Started = r.lastStart()
		}
		if !ending {
			report.Status = spec.Running
		}
	})
	if !ending && r.task.LastStatus != spec.Running {
		r.publish()
	}
}

// lastStart is when the last container started: a moment ago, or before a restart of the agent if all were found.
func (r *runner) lastStart() time.Time {
	var last time.Time
	for _, c := range r.containers {
		if c.found == nil || c.found.StartedAt.IsZero() {
			return now()
		}
		if c.found.StartedAt.After(last) {
			last = c.found.StartedAt
		}
	}
	return last.UTC()
}

// fail ends a task that cannot be started. An error that only says that the start was broken off is no reason.
func (r *runner) fail(ctx context.Context, err error) {
	if ctx.Err() != nil || r.ending() {
		return
	}
	r.log.Warn("task cannot be started", "err", err)
	var why *startError
	if errors.As(err, &why) && why.at != nil {
		r.update(func(report *spec.TaskReport) {
			report.Containers[why.at.index].Reason = atMost(err.Error(), maxReason)
		})
	}
	r.end(spec.StopFailedToStart, err.Error())
}

// prepare does at the same time everything that has to be there before the first start: images, networks, volumes,
// and the GPUs, which another task may still be leaving. It is broken off when the task ends.
func (r *runner) prepare(ctx context.Context, missing []*container) (*prepared, error) {
	ctx, cancel := r.untilEnd(ctx)
	defer cancel()
	mounts, err := r.scratch.mounts(r.def.Volumes)
	if err != nil {
		return nil, failed(noVolume, nil, err)
	}
	p := &prepared{mounts: mounts, images: make([]Image, len(r.containers)), places: make([]Attachment, len(r.containers))}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return r.takeGPUs(ctx, missing) })
	work.Go(func() error { return r.pullAll(ctx, missing, p) })
	for _, c := range missing {
		work.Go(func() error { return r.attach(ctx, c, p) })
	}
	return p, work.Wait()
}

func (r *runner) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// takeGPUs waits until the GPUs of the containers are this task's and nobody else's.
func (r *runner) takeGPUs(ctx context.Context, missing []*container) error {
	var uuids []string
	for _, c := range missing {
		uuids = append(uuids, c.gpus...)
	}
	unproven, err := r.node.handover.acquire(ctx, r.task.ID, uuids)
	if err != nil {
		return err
	}
	return r.node.handover.prove(ctx, unproven, func(reason string) {
		r.log.Warn("task waits for its GPUs", "reason", reason)
	})
}

// pullAll brings each image once.
func (r *runner) pullAll(ctx context.Context, missing []*container, p *prepared) error {
	r.update(func(report *spec.TaskReport) {
		if report.Times.PullStarted.IsZero() {
			report.Times.PullStarted = now()
		}
	})
	notice := time.AfterFunc(pullNotice, func() { r.publish() })
	defer notice.Stop()
	byRef := map[string][]*container{}
	for _, c := range missing {
		byRef[c.def.Image] = append(byRef[c.def.Image], c)
	}
	pulls, ctx := errgroup.WithContext(ctx)
	for ref, users := range byRef {
		pulls.Go(func() error { return r.pull(ctx, ref, users, p) })
	}
	err := pulls.Wait()
	r.mu.Lock()
	r.pulls = nil
	r.mu.Unlock()
	if err == nil {
		r.update(func(report *spec.TaskReport) {
			if report.Times.PullStopped.IsZero() { // not again when a container is started again
				report.Times.PullStopped = now()
			}
		})
	}
	return err
}

func (r *runner) pull(ctx context.Context, ref string, users []*container, p *prepared) error {
	image, err := r.node.config.Images.Pull(ctx, ref, r.progress)
	if err != nil {
		return failed(cannotPull, users[0], err)
	}
	for _, c := range users {
		p.images[c.index] = image
	}
	return nil
}

// attach gives the container its network and the files it resolves names with.
func (r *runner) attach(ctx context.Context, c *container, p *prepared) error {
	// The directory comes first: it is what tells a later start of the agent that there may be a network to clean up.
	_, err := r.scratch.container(c.id)
	if err != nil {
		return failed(cannotCreate, c, err)
	}
	place := Attachment{Namespace: r.mode}
	switch r.mode {
	case networkBridge:
		place, err = r.node.config.Network.Attach(ctx, c.id, c.def.PortMappings)
	case networkHost, networkNone:
	default:
		err = fmt.Errorf("network mode %q is not supported; use bridge, host or none", r.mode)
	}
	p.places[c.index] = place
	return failed(noNetwork, c, err)
}

// start runs one container and stays with it, unless the task is ending.
func (r *runner) start(ctx context.Context, c *container, p *prepared) error {
	if r.ending() || ctx.Err() != nil {
		return nil
	}
	if err := r.launch(ctx, c, p); err != nil {
		return err
	}
	r.await(ctx, c, time.Now())
	return nil
}

// launch runs one container. The call is not broken off when the agent is told to leave: half a start helps nobody.
func (r *runner) launch(ctx context.Context, c *container, p *prepared) error {
	containerSpec, err := r.spec(c, p)
	if err != nil {
		return failed(cannotCreate, c, err)
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	err = r.node.config.Containers.Start(call, containerSpec)
	if errors.Is(err, ErrExists) {
		r.log.Warn("container was there already, it is taken up", "container", c.def.Name)
		err = nil
	}
	if err != nil {
		c.broken = true
		return failed(startKind(err), c, err)
	}
	r.update(func(report *spec.TaskReport) {
		mine := &report.Containers[c.index]
		mine.Status, mine.RuntimeID, mine.ImageDigest = spec.Running, c.id, containerSpec.Image.Digest
		mine.Bindings = p.places[c.index].Bindings
	})
	c.begin(time.Now())
	return nil
}

// spec decides everything about the container.
func (r *runner) spec(c *container, p *prepared) (ContainerSpec, error) {
	def := *c.def
	if def.Hostname == "" && r.mode != networkHost {
		def.Hostname = r.task.ID[:min(12, len(r.task.ID))]
	}
	def.MountPoints = r.mountPoints(c.def)
	dir, err := r.scratch.container(c.id)
	if err != nil {
		return ContainerSpec{}, err
	}
	place := p.places[c.index]
	files, err := writeNameFiles(dir, r.mode, &def, place.Address)
	if err != nil {
		return ContainerSpec{}, err
	}
	return ContainerSpec{
		ID: c.id, Task: r.task, Def: &def, TaskDef: r.def, Image: p.images[c.index], GPUs: c.gpus,
		Env: environment(def.Environment, c.gpus), Network: place.Namespace, Mounts: p.mounts,
		Hosts: files.hosts, Resolv: files.resolv,
	}, nil
}

// mountPoints are the container's own, and those that it takes from others, to be read only if it asks for that.
func (r *runner) mountPoints(def *spec.ContainerDefinition) []spec.MountPoint {
	mounts := slices.Clone(def.MountPoints)
	for _, from := range def.VolumesFrom {
		if source := r.named(from.SourceContainer); source != nil {
			for _, m := range source.def.MountPoints {
				m.ReadOnly = m.ReadOnly || from.ReadOnly
				mounts = append(mounts, m)
			}
		}
	}
	return mounts
}
