package task

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"pinion/gpu"
	"pinion/node/gpulock"
	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
)

// gpuHook owns the task's GPUs on this host: from before the first start until no process has them open.
type gpuHook struct {
	locks  *gpulock.Locks
	sharer gpu.Sharer // nil: this host shares no GPUs
	task   *spec.Task
	log    *slog.Logger
	report func() // queues the report of the task
}

var (
	_ PrestartHook = (*gpuHook)(nil)
	_ PoststopHook = (*gpuHook)(nil)
)

func (h *gpuHook) Name() string { return "GPUs" }

// Prestart waits until the GPUs of the containers are this task's alone and idle, or shared by it.
func (h *gpuHook) Prestart(ctx context.Context, starts []*Start) error {
	var uuids []string
	for _, s := range starts {
		uuids = append(uuids, s.Spec.GPUs...)
	}
	locks := h.locks
	unchecked, err := locks.Acquire(ctx, h.task.ID, uuids, h.task.SharesGPU())
	if err != nil {
		return err
	}
	failpoint.Reached(failpoint.GPUsLocked)
	if err := h.endSharing(ctx, unchecked); err != nil { // that of an earlier process of the agent
		return err
	}
	err = locks.WaitIdle(ctx, unchecked, func(reason string) {
		h.log.Warn("task waits for its GPUs", "reason", reason)
	})
	if err != nil {
		return err
	}
	return h.takeOver(ctx, starts, unchecked)
}

// takeOver makes GPUs ready that are the task's now. Other tasks may share those that were checked once it has begun to.
func (h *gpuHook) takeOver(ctx context.Context, starts []*Start, unchecked []string) error {
	for _, s := range starts {
		if err := h.share(ctx, s); err != nil {
			return startError(KindResource, s.Container, err)
		}
	}
	if len(unchecked) > 0 {
		h.locks.Checked(h.task.ID, unchecked)
	}
	return nil
}

// share has the GPU of a container shared that holds a share of it.
func (h *gpuHook) share(ctx context.Context, s *Start) (err error) {
	share := shareOf(h.task, s.Spec.Def.Name)
	switch {
	case share == nil:
		return nil
	case h.sharer == nil:
		return errors.New("this host shares no GPUs")
	}
	s.MPSPipes, err = h.sharer.Share(ctx, s.Spec.GPUs[0], share.MemoryMiB)
	return err
}

// endSharing makes GPUs that were shared such as all others.
func (h *gpuHook) endSharing(ctx context.Context, uuids []string) error {
	for _, uuid := range uuids {
		if h.sharer != nil {
			if err := h.sharer.End(ctx, uuid); err != nil {
				return err
			}
		}
	}
	return nil
}

// Poststop releases the GPUs once they are idle. A GPU that never becomes idle keeps the task STOPPING. One that other tasks share is theirs
// from then on; the last of them ends the sharing.
func (h *gpuHook) Poststop(ctx context.Context) error {
	locks, id := h.locks, h.task.ID
	alone := locks.ReleaseShared(id)
	if err := h.endSharing(ctx, alone); err != nil {
		return err
	}
	err := locks.WaitIdle(ctx, alone, func(reason string) {
		h.log.Warn("task stays STOPPING until its GPUs are free", "reason", reason)
		h.report()
	})
	if err == nil {
		locks.Release(id)
		failpoint.Reached(failpoint.GPUsReleased)
	}
	return err
}

// visibleDevices tells CUDA and the NVIDIA tools inside a container which GPUs are its own.
const visibleDevices = "NVIDIA_VISIBLE_DEVICES"

// visibleDevicesHook sets NVIDIA_VISIBLE_DEVICES for every container, "void" for one without GPUs, so that neither an
// image's "all" nor a definition's counts. Other NVIDIA_* variables are the definition's business.
type visibleDevicesHook struct{}

var _ SpecHook = visibleDevicesHook{}

func (visibleDevicesHook) Name() string { return "visible devices" }

func (visibleDevicesHook) BuildSpec(s *Start) error {
	visible := "void"
	if len(s.Spec.GPUs) > 0 {
		visible = strings.Join(s.Spec.GPUs, ",")
	}
	s.SetEnv(visibleDevices, visible)
	return nil
}
