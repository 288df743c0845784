package containerd

import (
	"context"
	"errors"

	"pinion/node/containerd/cgroup"
	"pinion/node/runtime"
)

// Create makes a container up to its first process and does not start it: Start until Pinion dies before the process runs.
func (r *Runtime) Create(ctx context.Context, c runtime.ContainerSpec) error {
	ctx = r.inNamespace(ctx)
	s := &startOperation{runtime: r, spec: c, group: cgroup.ContainerPath(c), volumes: r.volumes.start(c.ID)}
	err := s.createContainer(ctx)
	if err == nil {
		request, taskErr := s.taskRequest()
		_, createErr := s.createTask(ctx, request)
		err = errors.Join(taskErr, createErr)
	}
	return errors.Join(err, s.volumes.release())
}

// KillToRemove is Remove until Pinion dies before it has deleted anything.
func (r *Runtime) KillToRemove(ctx context.Context, id string) error {
	return r.killToRemove(r.inNamespace(ctx), id)
}

// BreakOff is Start until ctx ends, and no rollback: what is left when Pinion is killed.
func (r *Runtime) BreakOff(ctx context.Context, c runtime.ContainerSpec) error {
	ctx = r.inNamespace(ctx)
	s := &startOperation{runtime: r, spec: c, group: cgroup.ContainerPath(c), volumes: r.volumes.start(c.ID)}
	return errors.Join(s.run(ctx), s.volumes.release())
}

// Purge removes a container and nothing of its task: Remove until Pinion dies.
func (r *Runtime) Purge(ctx context.Context, id string) error {
	return r.purge(r.inNamespace(ctx), id, "")
}
