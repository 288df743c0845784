package node_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/node/runtime/fake"
	"pinion/raftfsm/spec"
)

// sharing is a container with a share of a GPU.
func sharing(name, uuid string, mib int64, percent int64) spec.ContainerDefinition {
	d := withGPUs(name, uuid)
	d.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", SharingStrategy: &spec.SharingStrategy{NvidiaMPS: &spec.NvidiaMPS{Memory: mib, MaxComputePercent: &percent}}}}
	return d
}

// A host starts no container with a share that nothing keeps it to, whatever the pool has assigned to it.
func TestAHostWithoutEnforcementRefusesShares(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", sharing("main", "GPU-0", 300, 50))
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("stop code", report.StopCode, spec.StopFailedToStart)
		if !strings.Contains(report.StoppedReason, spec.AttributeVRAMEnforcement) {
			w.Errorf("the reason is %q", report.StoppedReason)
		}
		w.wantNothingLeft()
	})
}

// A share is not turned into the whole GPU by an assignment that leaves it out.
func TestAHostGivesNoWholeGPUForAShare(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.shares = true
		w.boot()
		asks := sharing("main", "GPU-0", 300, 50)
		asks.DockerLabels = nil // no GPU at all
		task := w.control.run("t1", asks)
		w.waitIdle()
		w.want("stop code", w.control.lastReport(task).StopCode, spec.StopFailedToStart)
		w.wantNothingLeft()
	})
}

func TestTasksShareAGPUAndOwnersWait(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.shares = true
		limits := map[string][]string{}
		for _, name := range []string{"a", "b"} {
			w.machine.SetProgram(name, fake.Program{ExitCode: func(env []string) *int { limits[name] = env; return nil }})
		}
		w.boot()
		a := sharing("a", "GPU-0", 300, 50)
		a.Environment = []spec.KeyValue{{Name: "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", Value: "0=80G"}}
		first, second := w.control.run("t1", a), w.control.run("t2", sharing("b", "GPU-0", 400, 100))
		w.waitIdle()
		w.wantRunning(id(first, "a"), id(second, "b"))
		w.want("greatest share", w.sharer.limits["GPU-0"], int64(400))
		for _, want := range []string{"CUDA_MPS_PIPE_DIRECTORY=/run/pinion/mps", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=300M", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50"} {
			if !slices.Contains(limits["a"], want) {
				w.Errorf("%s is not in %v", want, limits["a"])
			}
		}
		w.crash()
		w.boot()
		owner := w.control.run("t3", withGPUs("c", "GPU-0"))
		w.waitIdle()
		w.wantRunning(id(first, "a"), id(second, "b"))
		w.control.stop(first, "enough")
		w.advance(time.Minute)
		w.wantRunning(id(second, "b"))
		w.control.stop(second, "enough")
		w.advance(time.Minute)
		w.wantRunning(id(owner, "c"))
		if !slices.Equal(w.sharer.ended, []string{"GPU-0"}) {
			w.Errorf("the ends of sharing were %v", w.sharer.ended)
		}
	})
}

// No container starts that nothing keeps to its share.
func TestATaskWhoseGPUCannotBeSharedDoesNotStart(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.shares = true
		w.sharer.err = errors.New("no daemon")
		w.boot()
		task := w.control.run("t1", sharing("main", "GPU-0", 300, 50))
		w.waitIdle()
		report := w.control.lastReport(task)
		w.want("stop code", report.StopCode, spec.StopFailedToStart)
		w.want("reason", report.StoppedReason, "ResourceInitializationError: no daemon")
		w.want("starts", w.machine.StartCount(id(task, "main")), 0)
		w.wantNothingLeft()
	})
}

// A server that crashes has lost the work of its clients, and of nobody else. Afterwards the GPU is as any other.
func TestAFailedSharingEndsTheContainersOfItsGPU(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.shares = true
		w.boot()
		first, second := w.control.run("t1", sharing("a", "GPU-0", 300, 50)), w.control.run("t2", sharing("b", "GPU-0", 300, 50))
		other := w.control.run("t3", sharing("c", "GPU-1", 300, 50))
		w.waitIdle()
		w.sharer.fail("GPU-0")
		w.advance(time.Minute)
		w.wantRunning(id(other, "c"))
		for _, task := range []string{first, second} {
			report := w.control.lastReport(task)
			w.want("status", report.Status, spec.Stopped)
			if !strings.HasPrefix(report.StoppedReason, "GPUSharingError: ") || !strings.Contains(report.StoppedReason, "GPU-0") {
				w.Errorf("the reason is %q", report.StoppedReason)
			}
		}
		owner := w.control.run("t4", withGPUs("d", "GPU-0"))
		w.waitIdle()
		w.wantRunning(id(other, "c"), id(owner, "d"))
		if !slices.Equal(w.sharer.ended, []string{"GPU-0"}) {
			w.Errorf("the ends of sharing were %v", w.sharer.ended)
		}
	})
}

// An agent that comes back ends the sharing of GPUs that no container shares any more.
func TestAnAgentEndsTheSharingThatIsLeft(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.shares = true
		w.boot()
		task := w.control.run("t1", sharing("a", "GPU-0", 300, 50))
		w.waitIdle()
		w.crash()
		if _, err := w.sharer.Share(t.Context(), "GPU-1", 300); err != nil { // the agent died before a container started
			t.Fatal(err)
		}
		w.boot()
		w.wantRunning(id(task, "a"))
		if !slices.Equal(w.sharer.ended, []string{"GPU-1"}) {
			w.Errorf("the ends of sharing were %v", w.sharer.ended)
		}
	})
}
