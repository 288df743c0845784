package task

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// shareHook keeps a container to its share of a GPU, which gpuHook has made ready: the limits are set over whatever its definition says of
// them, and it ends when the sharing fails.
type shareHook struct {
	sharer gpu.Sharer       // nil: this host shares no GPUs
	host   func() spec.Host // as it describes itself now
	task   *spec.Task
	log    *slog.Logger
	stop   func(spec.StopCode, string)
}

var (
	_ SpecHook      = shareHook{}
	_ PoststartHook = shareHook{}
)

const (
	// mpsPath is the path in a container of the pipes of NVIDIA's Multi-Process Service.
	mpsPath = "/run/pinion/mps"
	// mpsPrivileged is the pipe for an administrator's commands, which could raise the container's own limits.
	mpsPrivileged = mpsPath + "/control_privileged"
)

func (shareHook) Name() string { return "share of a GPU" }

func (h shareHook) BuildSpec(s *Start) error {
	share := shareOf(h.task, s.Spec.Def.Name)
	if share == nil {
		return nil
	}
	if err := h.sharer.Check(s.Spec.GPUs[0]); err != nil {
		return startError(KindResource, s.Container, fmt.Errorf("nothing keeps the container to its share: %w", err))
	}
	empty := filepath.Join(s.Dir, "empty")
	if err := os.WriteFile(empty, nil, 0o444); err != nil {
		return err
	}
	s.Spec.OwnFiles = map[string]string{mpsPath: s.MPSPipes, mpsPrivileged: empty}
	s.SetEnv("CUDA_MPS_PIPE_DIRECTORY", mpsPath)
	s.SetEnv("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt.Sprintf("0=%dM", share.MemoryMiB))
	if share.ComputePercent > 0 {
		s.SetEnv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", strconv.FormatInt(share.ComputePercent, 10))
	}
	if h.host().GPUs.Simulated {
		h.log.Warn("container has a share of a simulated GPU, whose limits nothing enforces", "container", s.Spec.Def.Name, "mib", share.MemoryMiB)
	}
	return nil
}

// Poststart stops the task when the sharing of its GPU fails: what its containers compute is lost.
func (h shareHook) Poststart(ctx context.Context, c *Container, _ time.Time) {
	if shareOf(h.task, c.Def.Name) == nil || h.sharer == nil {
		return
	}
	if why := h.sharer.Watch(ctx, c.GPUs[0]); why != nil {
		h.stop(spec.StopEssentialExited, fmt.Sprintf("%s: the sharing of GPU %s has failed: %v", kindGPUSharing, c.GPUs[0], why))
	}
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
