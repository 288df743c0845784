package task

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"time"

	"pinion/node/gpuhealth"
	"pinion/raftfsm/gpufault"
	"pinion/raftfsm/spec"
)

// GPUHealth is the health of this host's GPUs.
type GPUHealth interface {
	// Watch returns why a task with the GPUs has to end, as soon as it has to; nil when ctx ends before.
	Watch(ctx context.Context, uuids []string) error
	// AddTaskEnd learns how a task with GPUs has ended by itself.
	AddTaskEnd(gpuhealth.TaskEnd)
}

// faultHook ends the task when one of its GPUs is lost, and tells how the task has ended by itself: tasks that fail may be the first sign of a GPU
// that is broken.
type faultHook struct {
	health   GPUHealth
	policy   gpufault.Policy // of the task's cluster
	task     *spec.Task
	workload func() gpuhealth.Workload
	report   func() spec.TaskReport
	stop     func(spec.StopCode, string)
}

var (
	_ PoststartHook = faultHook{}
	_ PoststopHook  = faultHook{}
)

func (faultHook) Name() string { return "health of the GPUs" }

// Poststart stops the task when a GPU of the container is lost: what it computes is lost too. It stops none of a cluster that keeps such tasks.
func (h faultHook) Poststart(ctx context.Context, c *Container, _ time.Time) {
	if len(c.GPUs) == 0 || h.policy == gpufault.Keep {
		return
	}
	if why := h.health.Watch(ctx, c.GPUs); why != nil {
		h.stop(spec.StopScheduler, spec.GPUFault+why.Error())
	}
}

// wellAfter is the time after which a running task shows that its GPUs work.
const wellAfter = time.Minute

// Poststop tells of a task that nobody has stopped. One that shares its GPU says nothing about it: others may have ended it.
func (h faultHook) Poststop(context.Context) error {
	end := gpuhealth.TaskEnd{Workload: h.workload()}
	report := h.report()
	end.Failed = report.StopCode == spec.StopEssentialExited && slices.ContainsFunc(report.Containers, failedByItself)
	ran := !report.Times.Started.IsZero() && time.Since(report.Times.Started) >= wellAfter
	well := report.StopCode == spec.StopEssentialExited && !end.Failed || ran && !end.Failed
	if len(end.GPUs) > 0 && !h.task.SharesGPU() && (well || end.Failed) {
		h.health.AddTaskEnd(end)
	}
	return nil
}

// stopSignals are the exit codes of containers that were stopped because another one of their task has ended.
var stopSignals = []int{128 + int(syscall.SIGTERM), 128 + int(syscall.SIGKILL)}

// failedByItself reports whether a container has failed for a reason that may be its GPU.
func failedByItself(c spec.ContainerReport) bool {
	return c.ExitCode != nil && *c.ExitCode != 0 && !slices.Contains(stopSignals, *c.ExitCode) && !strings.HasPrefix(c.Reason, spec.OutOfMemory)
}
