package task

import (
	"context"
	"strings"

	"pinion/packaging/failpoint"
)

// gpuHook owns the task's GPUs on this host: from before the first start until no process has them open.
type gpuHook struct{ runner *Runner }

var (
	_ PrestartHook = (*gpuHook)(nil)
	_ PoststopHook = (*gpuHook)(nil)
)

func (h *gpuHook) Name() string { return "GPUs" }

// Prestart waits until the GPUs of the containers are this task's alone and idle.
func (h *gpuHook) Prestart(ctx context.Context, starts []*Start) error {
	var uuids []string
	for _, s := range starts {
		uuids = append(uuids, s.Spec.GPUs...)
	}
	locks := h.runner.config.GPULocks
	unchecked, err := locks.Acquire(ctx, h.runner.task.ID, uuids)
	if err != nil {
		return err
	}
	failpoint.Reached(failpoint.GPUsLocked)
	return locks.WaitIdle(ctx, unchecked, func(reason string) {
		h.runner.log.Warn("task waits for its GPUs", "reason", reason)
	})
}

// Poststop releases the GPUs once they are idle. A GPU that never becomes idle keeps the task STOPPING.
func (h *gpuHook) Poststop(ctx context.Context) error {
	locks, id := h.runner.config.GPULocks, h.runner.task.ID
	err := locks.WaitIdle(ctx, locks.HeldBy(id), func(reason string) {
		h.runner.log.Warn("task stays STOPPING until its GPUs are free", "reason", reason)
		h.runner.queueReport()
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
