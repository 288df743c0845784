package node_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/node/runtime/fake"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// neverLeaves ignores SIGTERM.
var neverLeaves = fake.Program{}

func TestNothingStartsAndNothingStopsWithoutACluster(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.control.setDown(true)
		w.advance(time.Hour)
		w.wantRunning(id(task, "main"))
		w.crash()
		w.boot()
		w.advance(time.Hour)
		w.wantRunning(id(task, "main"))
		w.want("joins", w.control.joins, 1)
		select {
		case <-w.node.Joined():
			w.Error("it says that it has joined")
		default:
		}
		w.control.setDown(false)
		w.advance(5 * time.Second)
		<-w.node.Joined()
		w.want("joins", w.control.joins, 2)
		w.wantRunning(id(task, "main"))
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
	})
}

func TestReportsAreRepeatedUntilHeardAndOnlyTheLatestIs(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		heard := len(w.control.reports[task])
		w.control.setDown(true)
		w.machine.Exit(id(task, "main"), 0)
		w.advance(time.Hour)
		w.want("containers kept until STOPPED is heard", len(w.machine.All()), 1)
		w.control.setDown(false)
		w.advance(5 * time.Second)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.want("reports since", len(w.control.reports[task])-heard, 1)
		w.wantNothingLeft()
	})
}

func TestATaskThatTheClusterForgotIsStopped(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.control.removeTask(task)
		w.waitIdle()
		w.wantRunning()
		w.wantNothingLeft()
	})
}

func TestAClusterThatDoesNotKnowThisHostIsToldAgain(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.control.run("t1", container("main"))
		w.waitIdle()
		w.control.removeTask("")
		w.advance(5 * time.Second)
		if _, known := w.control.hosts[hostID]; !known {
			w.Error("the host has not joined again")
		}
		w.wantNothingLeft()
		task := w.control.run("t2", container("main"))
		w.advance(5 * time.Second)
		w.wantRunning(id(task, "main"))
	})
}

func TestWorkIsTakenOnlyAfterWhatRunsHereIsReported(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		host := w.control.hosts[hostID]
		w.control.removeTask("")
		w.control.mu.Lock()
		w.control.failJoins = true
		w.control.mu.Unlock()
		w.waitIdle()
		w.control.mu.Lock()
		w.control.hosts[hostID] = host // the cluster knows it, but it has not heard what runs there now
		w.control.mu.Unlock()
		task := w.control.run("t1", container("main"))
		w.advance(time.Minute)
		w.wantRunning()
		w.control.mu.Lock()
		w.control.failJoins = false
		w.control.mu.Unlock()
		w.advance(5 * time.Second)
		w.wantRunning(id(task, "main"))
	})
}

func TestAFinishedTaskIsNotStartedAgainByAnOldAnswer(t *testing.T) {
	simulate(t, func(w *simHost) {
		task := w.control.run("t1", container("main"))
		old := w.control.tasks[task]
		w.boot()
		w.machine.Exit(id(task, "main"), 0)
		w.waitIdle()
		w.wantNothingLeft()
		w.control.mu.Lock()
		w.control.tasks[task] = old // a server that is behind
		w.control.index = 0
		w.control.change()
		w.control.mu.Unlock()
		w.advance(time.Minute)
		w.want("starts", w.machine.StartCount(id(task, "main")), 1)
	})
}

func TestHeartbeatsGoOut(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.advance(time.Minute)
		if ago := time.Since(w.control.lastHeartbeat); ago > time.Second {
			w.Errorf("last heartbeat was %v ago", ago)
		}
	})
}

// A host that cannot tell the pool of a change of its GPUs is there all the same.
func TestHeartbeatsGoOnWhileAJoinFails(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.control.mu.Lock()
		w.control.failJoins = true
		w.control.mu.Unlock()
		w.gpus.removeDevice("GPU-1")
		w.advance(time.Minute)
		if ago := time.Since(w.control.lastHeartbeat); ago > time.Second {
			w.Errorf("last heartbeat was %v ago", ago)
		}
		w.control.mu.Lock()
		w.control.failJoins = false
		w.control.mu.Unlock()
		w.advance(5 * time.Second)
		w.want("its health", w.control.hosts[hostID].GPUs.Devices[1].Health, gpu.Lost)
	})
}

func TestTheHostDescribesItsGPUsAndTellsOfChanges(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.want("GPUs", len(w.control.hosts[hostID].GPUs.Devices), 2)
		w.gpus.removeDevice("GPU-1")
		w.waitIdle()
		w.want("its health at first", w.control.hosts[hostID].GPUs.Devices[1].Health, gpu.Unhealthy)
		w.gpus.changed <- struct{}{}
		w.waitIdle()
		w.want("joins when nothing changed", w.control.joins, 2)
		w.advance(2 * time.Minute)
		w.want("its health when it does not come", w.control.hosts[hostID].GPUs.Devices[1].Health, gpu.Lost)
		w.want("forgetting the other one", errors.Is(w.node.GPUs.Forget("GPU-0"), gpu.ErrPresent), true)
		if err := w.node.GPUs.Forget("GPU-1"); err != nil {
			w.Error(err)
		}
		w.waitIdle()
		w.want("GPUs", len(w.control.hosts[hostID].GPUs.Devices), 1)
		w.want("forgetting it twice", errors.Is(w.node.GPUs.Forget("GPU-1"), spec.ErrNotFound), true)
	})
}

func TestTheHostTellsWhichListenersItsProxyDoesNotServe(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		var many []traffic.ListenerProblem
		for port := range 30 {
			many = append(many, traffic.ListenerProblem{Listener: "l", Port: port, Problem: "address already in use"})
		}
		w.node.Routes.SetListenerProblems(many)
		w.waitIdle()
		w.want("problems", len(w.control.hosts[hostID].ListenerProblems), 20)
		w.node.Routes.SetListenerProblems(nil)
		w.waitIdle()
		w.want("problems when all listeners serve", len(w.control.hosts[hostID].ListenerProblems), 0)
	})
}

func TestAGPUSourceThatFailsIsAStateOfTheHost(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.err = spec.ErrNotFound
		w.boot()
		w.want("problem", w.control.hosts[hostID].GPUs.Problem, "not found")
		task := w.control.run("t1", container("main"))
		w.waitIdle()
		w.wantRunning(id(task, "main"))
	})
}

func TestAGPUInUseHoldsStoppedBack(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", withGPUs("main", "GPU-0"))
		w.waitIdle()
		w.gpus.setProcesses("GPU-0", 4711)
		w.machine.Exit(id(task, "main"), 0)
		w.advance(time.Hour)
		w.want("status", w.control.lastReport(task).Status, spec.Stopping)
		next := w.control.run("t2", withGPUs("main", "GPU-0"))
		w.advance(time.Minute)
		w.want("starts of the next task", w.machine.StartCount(id(next, "main")), 0)
		w.gpus.setProcesses("GPU-0")
		w.advance(2 * time.Second)
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
		w.wantRunning(id(next, "main"))
	})
}

func TestAGPUThatWasProvenFreeIsNotProvenAgain(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		first := w.control.run("t1", withGPUs("main", "GPU-0"))
		w.waitIdle()
		w.machine.Exit(id(first, "main"), 0)
		w.waitIdle()
		calls := w.gpus.processCalls
		second := w.control.run("t2", withGPUs("main", "GPU-0"))
		w.waitIdle()
		w.wantRunning(id(second, "main"))
		w.want("looks at processes", w.gpus.processCalls-calls, 0)
	})
}

func TestAfterAStartOfTheAgentAGPUIsProvenFreeBeforeItIsUsed(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.gpus.setProcesses("GPU-0", 4711)
		w.boot()
		task := w.control.run("t1", withGPUs("main", "GPU-0"))
		other := w.control.run("t2", withGPUs("main", "GPU-1"))
		w.advance(time.Hour)
		w.wantRunning(id(other, "main"))
		w.gpus.setProcesses("GPU-0")
		w.advance(2 * time.Second)
		w.wantRunning(id(task, "main"), id(other, "main"))
	})
}

func TestAGPUThatALostContainerStillHoldsIsNotGivenAway(t *testing.T) {
	simulate(t, func(w *simHost) {
		stray := specOf("old", "main")
		stray.GPUs = []string{"GPU-0"}
		w.machine.SetProgram("main", neverLeaves)
		if err := w.machine.Open().Start(w.Context(), stray); err != nil {
			w.Fatal(err)
		}
		task := w.control.run("t1", withGPUs("main", "GPU-0"))
		other := w.control.run("t2", withGPUs("main", "GPU-1"))
		w.boot()
		w.wantRunning(id("old", "main"), id(other, "main"))
		w.advance(31 * time.Second)
		w.wantRunning(id(task, "main"), id(other, "main"))
	})
}

func TestAGPUThatFellOffTheBusDoesNotHoldItsTask(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		task := w.control.run("t1", withGPUs("main", "GPU-0"))
		w.waitIdle()
		w.gpus.removeDevice("GPU-0")
		w.machine.Exit(id(task, "main"), 139)
		w.waitIdle()
		w.want("status", w.control.lastReport(task).Status, spec.Stopped)
	})
}

func TestAnUnhealthyGPUIsToldToTheCluster(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.boot()
		w.gpus.mu.Lock()
		w.gpus.devices = slices.Clone(w.gpus.devices)
		w.gpus.devices[0].Health, w.gpus.devices[0].Problem = gpu.Unhealthy, "Xid 79"
		w.gpus.mu.Unlock()
		w.gpus.changed <- struct{}{}
		w.waitIdle()
		w.want("health", w.control.hosts[hostID].GPUs.Devices[0].Health, gpu.Unhealthy)
	})
}
