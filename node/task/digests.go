package task

import (
	"context"

	"pinion/raftfsm/spec"
)

// resolution has happened when the pool knows the digests of a task's run.
type resolution struct {
	*latch
	task *spec.Task // with the digests; not to be read before
}

// Update takes note of what the pool has changed of the task: for how long it may run, and its GPUs do nothing, as its tags say, and the digests of its run,
// which are those of the first task of the run that resolved its images.
func (r *Runner) Update(task *spec.Task) {
	options := task.SchedulingOptions()
	r.timeLimit.set(options.TimeLimit)
	if task.Service == nil { // which would replace it at once
		r.Meter.setIdleTimeout(options.IdleTimeout)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.resolved.happened() && task.Resolved() {
		r.resolved.task = task
		r.resolved.set()
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
	if !r.resolved.happened() { // it may have while the image was pulled
		r.queueReport()
	}
	select {
	case <-r.resolved.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for _, s := range starts {
		decided := r.resolved.task.ImageDigest(s.Spec.Def.Name)
		if s.Spec.Def.ResolvesOnce() && decided != "" && decided != s.Spec.Image.Digest {
			s.Container.updateReport(func(report *spec.ContainerReport) { report.ImageDigest = decided })
			others = append(others, s)
		}
	}
	return others, nil
}
