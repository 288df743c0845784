package dispatch

import (
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// Who stopped a task, and whether its host was lost, is for the pool to say: a service replaces such a task at once, and a host that says so of each
// would have tasks made without end. Of its own accord a host stops a task that failed, and one whose time limit is over.
func TestAHostDoesNotSayThatThePoolStoppedATask(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	limit := []spec.Tag{{Key: spec.TagTimeLimit, Value: "1h"}}
	idle := []spec.Tag{{Key: spec.TagIdleTimeout, Value: "1h"}}
	requeue := append(idle[:1:1], spec.Tag{Key: spec.TagIdleAction, Value: "requeue"})
	ofService := &spec.ServiceMember{ID: "web"}
	for _, k := range []struct {
		task       spec.Task
		said, want spec.StopCode
	}{
		{spec.Task{}, spec.StopUserInitiated, ""}, {spec.Task{}, spec.StopPreempted, ""}, {spec.Task{}, "SomeOtherCode", ""},
		{spec.Task{}, spec.StopFailedToStart, spec.StopFailedToStart}, {spec.Task{}, spec.StopEssentialExited, spec.StopEssentialExited},
		{spec.Task{}, spec.StopScheduler, ""}, {spec.Task{Service: ofService}, spec.StopScheduler, ""},
		{spec.Task{Tags: limit, CreatedAt: now}, spec.StopScheduler, spec.StopScheduler},
		{spec.Task{Tags: idle}, spec.StopScheduler, spec.StopScheduler}, {spec.Task{Tags: idle, Service: ofService}, spec.StopScheduler, ""},
		{spec.Task{Tags: requeue, CreatedAt: now.Add(-time.Hour)}, spec.StopPreempted, spec.StopPreempted},
		{spec.Task{Tags: requeue, CreatedAt: now.Add(-time.Minute)}, spec.StopPreempted, ""}, // it cannot have been idle for so long
		{spec.Task{Tags: requeue, CreatedAt: now.Add(-time.Hour), Service: ofService}, spec.StopPreempted, ""},
		{spec.Task{Tags: requeue[1:], CreatedAt: now.Add(-time.Hour)}, spec.StopPreempted, ""},
		{spec.Task{Tags: idle, CreatedAt: now.Add(-time.Hour)}, spec.StopPreempted, ""},
		{spec.Task{Tags: limit, CreatedAt: now, Service: ofService}, spec.StopScheduler, ""},
		{spec.Task{Tags: limit, CreatedAt: now.Add(-time.Hour), Service: ofService}, spec.StopScheduler, spec.StopScheduler},
	} {
		reports := []spec.TaskReport{{TaskID: "a", StopCode: k.said}, {TaskID: "unknown", StopCode: k.said}}
		withinRights(nil, func(id string) *spec.Task {
			if id == "a" {
				return &k.task
			}
			return nil
		}, reports, now)
		if reports[0].StopCode != k.want || reports[1].StopCode != k.said {
			t.Errorf("%s of %+v is taken for %q", k.said, k.task, reports[0].StopCode)
		}
	}
}

// A service replaces a task at once that lost a GPU. A host that says so is believed once the pool knows a GPU of the task as sick, or gone: that GPU
// gets no other task.
func TestAHostIsBelievedThatATaskLostASickGPU(t *testing.T) {
	task := &spec.Task{Service: &spec.ServiceMember{ID: "web"}, Containers: []spec.Container{{Name: "c", GPUs: []string{"GPU-a", "GPU-b"}}}}
	host := func(health gpu.Health) *spec.Host {
		return &spec.Host{GPUs: gpu.Inventory{Devices: []gpu.Device{{UUID: "GPU-a", Health: gpu.Healthy}, {UUID: "GPU-b", Health: health}, {UUID: "GPU-other", Health: gpu.Lost}}}}
	}
	for name, k := range map[string]struct {
		host   *spec.Host
		code   spec.StopCode
		reason string
		want   spec.StopCode
	}{
		"its GPU is lost":         {host(gpu.Lost), spec.StopScheduler, spec.GPUFault + "Xid 79", spec.StopScheduler},
		"its GPU is gone":         {&spec.Host{}, spec.StopScheduler, spec.GPUFault + "Xid 79", spec.StopScheduler},
		"its GPUs are well":       {host(gpu.Healthy), spec.StopScheduler, spec.GPUFault + "Xid 79", ""},
		"the host is not known":   {nil, spec.StopScheduler, spec.GPUFault + "Xid 79", ""},
		"it says something else":  {host(gpu.Lost), spec.StopScheduler, "enough", ""},
		"it says who stopped it":  {host(gpu.Lost), spec.StopUserInitiated, spec.GPUFault + "Xid 79", ""},
		"the task failed by then": {host(gpu.Lost), spec.StopEssentialExited, "Essential container in task exited", spec.StopEssentialExited},
	} {
		reports := []spec.TaskReport{{TaskID: "a", StopCode: k.code, StoppedReason: k.reason}}
		withinRights(k.host, func(string) *spec.Task { return task }, reports, time.Unix(1_000_000, 0))
		if reports[0].StopCode != k.want {
			t.Errorf("%s: %q is recorded", name, reports[0].StopCode)
		}
	}
	task.CreatedAt = time.Unix(1_000_000, 0).Add(-time.Second) // a host that takes each task with it that the service starts
	reports := []spec.TaskReport{{TaskID: "a", StopCode: spec.StopScheduler, StoppedReason: spec.GPUFault + "Xid 79"}}
	if withinRights(host(gpu.Lost), func(string) *spec.Task { return task }, reports, time.Unix(1_000_000, 0)); reports[0].StopCode != "" {
		t.Errorf("a task that the service has just started: %q is recorded", reports[0].StopCode)
	}
}

// A task that its host says has ended, and not how, did not lose its host. What the pool stopped may have had no container yet.
func TestAHostThatSpeaksIsNotLost(t *testing.T) {
	now, zero := time.Unix(1_000_000, 0), 0
	ended := func(task spec.Task, containers ...spec.ContainerReport) time.Time {
		reports := []spec.TaskReport{{TaskID: "a", Status: spec.Stopped, Times: spec.TaskTimes{Stopping: now, Stopped: now}, Containers: containers}}
		withinRights(nil, func(string) *spec.Task { return &task }, reports, now)
		return reports[0].Times.ExecutionStopped
	}
	if !ended(spec.Task{}, spec.ContainerReport{Name: "c"}).Equal(now) || !ended(spec.Task{}).Equal(now) {
		t.Error("it passes for a task of a lost host")
	}
	known := spec.Task{Containers: []spec.Container{{Name: "c", ExitCode: &zero}}}
	for name, at := range map[string]time.Time{
		"with an exit code":       ended(spec.Task{}, spec.ContainerReport{Name: "c", ExitCode: &zero}),
		"with a reason":           ended(spec.Task{}, spec.ContainerReport{Name: "c", Reason: "CannotPullContainerError"}),
		"with one that was known": ended(known), "stopped by the pool": ended(spec.Task{StopCode: spec.StopUserInitiated}),
	} {
		if !at.IsZero() {
			t.Errorf("%s: its execution is said to have stopped", name)
		}
	}
}
