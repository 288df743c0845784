package task

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
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
	unchecked, err := locks.Acquire(ctx, h.runner.task.ID, uuids, h.runner.task.SharesGPU())
	if err != nil {
		return err
	}
	failpoint.Reached(failpoint.GPUsLocked)
	err = locks.WaitIdle(ctx, unchecked, func(reason string) {
		h.runner.log.Warn("task waits for its GPUs", "reason", reason)
	})
	if err == nil && len(unchecked) > 0 {
		locks.Checked(h.runner.task.ID, unchecked)
	}
	return err
}

// Poststop releases the GPUs once they are idle. A GPU that never becomes idle keeps the task STOPPING. One that other tasks share is theirs
// from then on; the next task that comes to it alone waits until it is idle.
func (h *gpuHook) Poststop(ctx context.Context) error {
	locks, id := h.runner.config.GPULocks, h.runner.task.ID
	err := locks.WaitIdle(ctx, locks.HeldAlone(id), func(reason string) {
		h.runner.log.Warn("task stays STOPPING until its GPUs are free", "reason", reason)
		h.runner.queueReport()
	})
	if err == nil {
		locks.Release(id)
		failpoint.Reached(failpoint.GPUsReleased)
	}
	return err
}

// shareHook sets the limits of NVIDIA's Multi-Process Service for a container with a share of a GPU, over whatever its definition says of
// them.
type shareHook struct{ runner *Runner }

var _ SpecHook = shareHook{}

func (shareHook) Name() string { return "share of a GPU" }

func (h shareHook) BuildSpec(s *Start) error {
	share := shareOf(h.runner.task, s.Spec.Def.Name)
	if share == nil {
		return nil
	}
	s.SetEnv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt.Sprintf("0=%dM", share.MemoryMiB))
	if share.ComputePercent > 0 {
		s.SetEnv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", strconv.FormatInt(share.ComputePercent, 10))
	}
	h.runner.log.Warn("container has a share of a simulated GPU, whose limits nothing enforces", "container", s.Spec.Def.Name, "MiB", share.MemoryMiB)
	return nil
}

// shareOf is the share of a container of the task; nil when it has none.
func shareOf(task *spec.Task, name string) *spec.GPUShare {
	for i := range task.Containers {
		if c := &task.Containers[i]; c.Name == name {
			return c.Share
		}
	}
	return nil
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
