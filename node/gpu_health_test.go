package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/gpufault"
	"pinion/raftfsm/spec"
)

// wantGPUHealth compares what the pool knows of the host's GPUs.
func (w *simHost) wantGPUHealth(zero, one gpu.Health) {
	w.Helper()
	w.waitIdle()
	w.control.mu.Lock()
	defer w.control.mu.Unlock()
	devices := w.control.hosts[hostID].GPUs.Devices
	if devices[0].Health != zero || devices[1].Health != one {
		w.Errorf("the pool knows %s %q and %s %q, want %s and %s", devices[0].Health, devices[0].Problem, devices[1].Health, devices[1].Problem, zero, one)
	}
}

// gpuProblem is what the pool knows to be wrong with a GPU of the host.
func (w *simHost) gpuProblem(uuid string) string {
	w.waitIdle()
	w.control.mu.Lock()
	defer w.control.mu.Unlock()
	device, _ := w.control.hosts[hostID].GPUs.Device(uuid)
	return device.Problem
}

func TestALostGPUEndsItsTaskAndNoOther(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		lost, other := w.control.run("t1", withGPUs("a", "GPU-0")), w.control.run("t2", withGPUs("b", "GPU-1"))
		w.waitIdle()
		w.gpus.setWrong("GPU-0", errors.New("no answer"))
		w.gpus.fault("GPU-0", 79)
		w.wantGPUHealth(gpu.Lost, gpu.Healthy)
		w.wantRunning(id(other, "b"))
		report := w.control.lastReport(lost)
		w.want("status", report.Status, spec.Stopped)
		w.want("stop code", report.StopCode, spec.StopScheduler) // another one takes its place at once
		if !strings.HasPrefix(report.StoppedReason, "GPUFaultError: ") || !strings.Contains(report.StoppedReason, "Xid 79") {
			w.Errorf("the reason is %q", report.StoppedReason)
		}

		w.advance(time.Hour)
		w.wantGPUHealth(gpu.Lost, gpu.Healthy)
		w.crash()
		w.boot()
		w.wantGPUHealth(gpu.Lost, gpu.Healthy) // an agent that starts knows it
		w.gpus.setWrong("GPU-0", nil)
		w.advance(20 * time.Minute)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
	})
}

func TestAClusterThatKeepsTasksEndsNoneOfALostGPU(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.control.rules.GPUFaults = gpufault.Keep
		kept := w.control.run("t1", withGPUs("a", "GPU-0"))
		w.waitIdle()
		w.gpus.fault("GPU-0", 79)
		w.wantGPUHealth(gpu.Lost, gpu.Healthy)
		w.advance(time.Hour)
		w.wantRunning(id(kept, "a"))
		w.control.stop(kept, "enough")
		w.advance(time.Minute)
		w.wantNothingLeft()
	})
}

func TestAGPUThatNeedsAResetLetsItsTaskEndAndIsCheckedAfterIt(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", withGPUs("a", "GPU-0"))
		w.waitIdle()
		w.gpus.fault("GPU-0", 48)
		w.wantGPUHealth(gpu.NeedsReset, gpu.Healthy)
		w.advance(time.Hour)
		w.wantRunning(id(task, "a"))
		w.want("checks while a task has the GPU", w.gpus.checks, 0)

		w.control.stop(task, "enough")
		w.advance(time.Minute)
		w.want("checks", w.gpus.checks, 1)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
		w.wantNothingLeft()
	})
}

// A fault that comes during a check is no less than one before it, also when the check takes longer than the driver's own record of the fault.
func TestAGPUWithAFaultDuringItsCheckIsCheckedAgain(t *testing.T) {
	for _, longer := range []time.Duration{0, time.Minute} {
		simulate(t, func(w *simHost) {
			w.boot()
			w.gpus.duringCheck = func() {
				w.gpus.fault("GPU-0", 79)
				time.Sleep(longer)
			}
			w.gpus.fault("GPU-0", 48)
			w.advance(31 * time.Second)
			w.wantGPUHealth(gpu.Lost, gpu.Healthy)
			w.advance(2 * time.Minute)
			w.want("checks", w.gpus.checks, 2)
			w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
		})
	}
}

func TestAContainedErrorEndsItsTaskAndTheGPUGoesOn(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		first := w.control.run("t1", withGPUs("a", "GPU-0"))
		w.waitIdle()
		w.gpus.fault("GPU-0", 94)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
		w.want("status", w.control.lastReport(first).Status, spec.Stopped)
		next := w.control.run("t2", withGPUs("a", "GPU-0"))
		w.waitIdle()
		w.wantRunning(id(next, "a"))
	})
}

// While the driver hangs, no GPU gets new tasks, and those that run go on: they may compute all the same. A hang of more than a minute is one that a reboot ends;
// if the driver answers again all the same, the GPUs come back after a check.
func TestADriverThatHangsEndsNoTask(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", withGPUs("a", "GPU-0"))
		w.waitIdle()
		w.gpus.hang(true)
		w.advance(55 * time.Second)
		w.wantGPUHealth(gpu.Unhealthy, gpu.Unhealthy)
		if problem := w.gpuProblem("GPU-0"); !strings.HasPrefix(problem, "the driver has not answered about it since ") {
			w.Errorf("the problem is %q", problem)
		}
		w.advance(90 * time.Second)
		w.wantGPUHealth(gpu.NeedsReboot, gpu.NeedsReboot)
		if problem := w.gpuProblem("GPU-1"); !strings.Contains(problem, "it hangs: reboot the host") {
			w.Errorf("the problem is %q", problem)
		}
		w.wantRunning(id(task, "a"))
		w.gpus.hang(false)
		w.advance(time.Hour)
		w.wantGPUHealth(gpu.NeedsReboot, gpu.Healthy) // a check waits until no task has the GPU
		w.wantRunning(id(task, "a"))
		w.control.stop(task, "enough")
		w.advance(time.Minute)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
	})
}

// A GPU that slows itself down for a minute gets no more tasks. Its task runs on. It comes back when it has not for a minute and has passed a check;
// that it passes one while it does nothing says nothing.
func TestAGPUThatSlowsItselfDownIsSuspect(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setUsage("GPU-0", 90, 500)
		w.gpus.setUsage("GPU-1", 90, 500)
		task := w.control.run("t1", withGPUs("a", "GPU-0"))
		w.waitIdle()
		w.gpus.setSlowdown("GPU-0", gpu.SlowThermal)
		w.advance(50 * time.Second)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
		w.advance(15 * time.Second)
		w.wantGPUHealth(gpu.Suspect, gpu.Healthy)
		if problem := w.gpuProblem("GPU-0"); !strings.HasPrefix(problem, "it has slowed itself down since ") || !strings.Contains(problem, "too hot: see to the fans") {
			w.Errorf("the problem is %q", problem)
		}
		w.wantRunning(id(task, "a"))
		w.control.stop(task, "enough")
		w.advance(time.Hour)
		w.want("checks while it is slow", w.gpus.checks, 0)
		if err := w.node.GPUs.Check("GPU-0", false); err != nil {
			w.Fatal(err)
		}
		w.waitIdle()
		if outcome, err := w.node.GPUs.CheckOutcome("GPU-0"); err != nil || !outcome.Done || !strings.Contains(outcome.Problem, "slowed itself down") {
			w.Errorf("a check that was asked for: %+v, %v", outcome, err)
		}
		w.gpus.setSlowdown("GPU-0", "")
		w.advance(30 * time.Second)
		w.wantGPUHealth(gpu.Suspect, gpu.Healthy)
		w.advance(40 * time.Second)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
	})
}

// A few samples in which a GPU is slow are how GPUs work.
func TestAGPUThatIsSlowNowAndThenIsWell(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setUsage("GPU-0", 90, 500)
		for range 30 {
			w.gpus.setSlowdown("GPU-0", gpu.SlowPower)
			w.advance(15 * time.Second)
			w.gpus.setSlowdown("GPU-0", "")
			w.advance(15 * time.Second)
		}
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
	})
}

func TestErrorsOfThreeProgramsMakeTheirGPUSuspect(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setWrong("GPU-0", errors.New("12 words are not what was written"))
		for i := range 3 {
			w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
			task := w.control.assign(fmt.Sprint("t", i), spec.TaskDefinition{Containers: []spec.ContainerDefinition{withGPUs("a", "GPU-0")}}, func(t *spec.Task) { t.Definition = fmt.Sprintf("job%d:1", i) })
			w.waitIdle()
			w.machine.Exit(id(task, "a"), 134)
			w.waitIdle()
		}
		w.wantGPUHealth(gpu.Suspect, gpu.Healthy)
		w.gpus.setWrong("GPU-0", nil)
		w.advance(time.Hour)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
	})
}

func TestOneProgramThatFailsIsSuspiciousWhereItWorksElsewhereAlone(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprint("elsewhere ", elsewhere), func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.gpus.setWrong("GPU-0", errors.New("12 words are not what was written"))
				w.boot()
				if elsewhere {
					w.control.run("well", withGPUs("a", "GPU-1"))
					w.advance(time.Minute)
				}
				for i := range 3 {
					task := w.control.run(fmt.Sprint("t", i), withGPUs("a", "GPU-0"))
					w.waitIdle()
					w.machine.Exit(id(task, "a"), 1)
					w.waitIdle()
				}
				want := gpu.Healthy
				if elsewhere {
					want = gpu.Suspect
				}
				w.wantGPUHealth(want, gpu.Healthy)
			})
		})
	}
}

func TestAGPUIsCheckedWhenNoProcessHasItOpen(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.setProcesses("GPU-0", 4711)
		w.gpus.fault("GPU-0", 119)
		w.advance(5 * time.Minute)
		w.want("checks of a GPU in use", w.gpus.checks, 0)
		w.wantGPUHealth(gpu.NeedsReset, gpu.Healthy)
		w.gpus.setProcesses("GPU-0")
		w.advance(time.Hour)
		w.wantGPUHealth(gpu.Healthy, gpu.Healthy)
	})
}
