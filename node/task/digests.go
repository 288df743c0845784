package task

import (
	"context"
	"sync/atomic"

	"pinion/raftfsm/spec"
)

// updates are the pool's changes of a task since its assignment.
type updates struct {
	tags     atomic.Pointer[[]spec.Tag]
	resolved *latch     // the pool knows the digests of the task's run
	run      *spec.Task // with these digests; not to be read before
}

// Update takes note of the pool's changes of the task: its tags, for how long it may run, and its GPUs do nothing, as these say, and the digests of
// its run, which are those of the first task of the run that resolved its images.
func (r *Runner) Update(task *spec.Task) {
	r.updates.tags.Store(&task.Tags)
	options := task.SchedulingOptions()
	r.timeLimit.set(options.TimeLimit)
	if task.Service == nil { // which would replace it at once
		r.Meter.setIdleTimeout(options.IdleTimeout, options.IdleRequeue)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.updates.resolved.happened() && task.Resolved() {
		r.updates.run = task
		r.updates.resolved.set()
	}
}

// image is the reference to pull for the container: by the digest that was resolved before, if there is one.
func (c *Container) image() string {
	if digest := c.report().ImageDigest; digest != "" && c.Def.ResolvesOnce() {
		return c.Def.Image + "@" + digest
	}
	return c.Def.Image
}

// agree records the digests that were found here. When the task shares them with others of its run, it tells the pool, waits for the
// digests of the run, and returns the starts that have to take another image. Who was made alone waits for nobody.
func (h *imageHook) agree(ctx context.Context, starts []*Start) (others []*Start, err error) {
	r := h.runner
	for _, s := range starts {
		if s.Spec.Def.ResolvesOnce() {
			s.Container.updateReport(func(report *spec.ContainerReport) { report.ImageDigest = s.Spec.Image.Digest })
		}
	}
	if r.task.Run == "" {
		return nil, nil
	}
	if !r.updates.resolved.happened() { // it may have while the image was pulled
		r.queueReport()
	}
	select {
	case <-r.updates.resolved.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for _, s := range starts {
		decided := r.updates.run.ImageDigest(s.Spec.Def.Name)
		if s.Spec.Def.ResolvesOnce() && decided != "" && decided != s.Spec.Image.Digest {
			s.Container.updateReport(func(report *spec.ContainerReport) { report.ImageDigest = decided })
			others = append(others, s)
		}
	}
	return others, nil
}
