package node_test

import (
	"slices"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/node/fake"
	"pinion/raftfsm/spec"
)

// neverLeaves ignores SIGTERM.
var neverLeaves = fake.Program{}

func TestNothingStartsAndNothingStopsWithoutACluster(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		task := w.cluster.run("t1", container("main"))
		w.settle()
		w.cluster.setDown(true)
		w.pass(time.Hour)
		w.wantRunning(id(task, "main"))
		w.crash()
		w.boot()
		w.pass(time.Hour)
		w.wantRunning(id(task, "main"))
		w.want("joins", w.cluster.joins, 1)
		select {
		case <-w.node.Joined():
			w.Error("it says that it has joined")
		default:
		}
		w.cluster.setDown(false)
		w.pass(5 * time.Second)
		<-w.node.Joined()
		w.want("joins", w.cluster.joins, 2)
		w.wantRunning(id(task, "main"))
		w.want("starts", w.machine.Starts(id(task, "main")), 1)
	})
}

func TestReportsAreRepeatedUntilHeardAndOnlyTheLatestIs(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		task := w.cluster.run("t1", container("main"))
		w.settle()
		heard := len(w.cluster.heard[task])
		w.cluster.setDown(true)
		w.machine.Exit(id(task, "main"), 0)
		w.pass(time.Hour)
		w.want("containers kept until STOPPED is heard", len(w.machine.All()), 1)
		w.cluster.setDown(false)
		w.pass(5 * time.Second)
		w.want("status", w.cluster.last(task).Status, spec.Stopped)
		w.want("reports since", len(w.cluster.heard[task])-heard, 1)
		w.wantNothingLeft()
	})
}

func TestATaskThatTheClusterForgotIsStopped(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		task := w.cluster.run("t1", container("main"))
		w.settle()
		w.cluster.forget(task)
		w.settle()
		w.wantRunning()
		w.wantNothingLeft()
	})
}

func TestAClusterThatDoesNotKnowThisHostIsToldAgain(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		w.cluster.run("t1", container("main"))
		w.settle()
		w.cluster.forget("")
		w.pass(5 * time.Second)
		if _, known := w.cluster.hosts[hostID]; !known {
			w.Error("the host has not joined again")
		}
		w.wantNothingLeft()
		task := w.cluster.run("t2", container("main"))
		w.pass(5 * time.Second)
		w.wantRunning(id(task, "main"))
	})
}

func TestWorkIsTakenOnlyAfterWhatRunsHereIsReported(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		host := w.cluster.hosts[hostID]
		w.cluster.forget("")
		w.cluster.mu.Lock()
		w.cluster.deaf = true
		w.cluster.mu.Unlock()
		w.settle()
		w.cluster.mu.Lock()
		w.cluster.hosts[hostID] = host // the cluster knows it, but it has not heard what runs there now
		w.cluster.mu.Unlock()
		task := w.cluster.run("t1", container("main"))
		w.pass(time.Minute)
		w.wantRunning()
		w.cluster.mu.Lock()
		w.cluster.deaf = false
		w.cluster.mu.Unlock()
		w.pass(5 * time.Second)
		w.wantRunning(id(task, "main"))
	})
}

func TestAFinishedTaskIsNotStartedAgainByAnOldAnswer(t *testing.T) {
	in(t, func(w *world) {
		task := w.cluster.run("t1", container("main"))
		old := w.cluster.tasks[task]
		w.boot()
		w.machine.Exit(id(task, "main"), 0)
		w.settle()
		w.wantNothingLeft()
		w.cluster.mu.Lock()
		w.cluster.tasks[task] = old // a server that is behind
		w.cluster.index = 0
		w.cluster.change()
		w.cluster.mu.Unlock()
		w.pass(time.Minute)
		w.want("starts", w.machine.Starts(id(task, "main")), 1)
	})
}

func TestHeartbeatsGoOut(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		w.pass(time.Minute)
		if ago := time.Since(w.cluster.lastSaw); ago > time.Second {
			w.Errorf("last heartbeat was %v ago", ago)
		}
	})
}

func TestTheHostDescribesItsGPUsAndTellsOfChanges(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		w.want("GPUs", len(w.cluster.hosts[hostID].GPUs.Devices), 2)
		w.gpus.lose("GPU-1")
		w.settle()
		w.want("GPUs", len(w.cluster.hosts[hostID].GPUs.Devices), 1)
		w.gpus.changed <- struct{}{}
		w.settle()
		w.want("joins when nothing changed", w.cluster.joins, 2)
	})
}

func TestAGPUSourceThatFailsIsAStateOfTheHost(t *testing.T) {
	in(t, func(w *world) {
		w.gpus.err = spec.ErrNotFound
		w.boot()
		w.want("problem", w.cluster.hosts[hostID].GPUs.Problem, "not found")
		task := w.cluster.run("t1", container("main"))
		w.settle()
		w.wantRunning(id(task, "main"))
	})
}

func TestAGPUInUseHoldsStoppedBack(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		task := w.cluster.run("t1", withGPUs("main", "GPU-0"))
		w.settle()
		w.gpus.use("GPU-0", 4711)
		w.machine.Exit(id(task, "main"), 0)
		w.pass(time.Hour)
		w.want("status", w.cluster.last(task).Status, spec.Stopping)
		next := w.cluster.run("t2", withGPUs("main", "GPU-0"))
		w.pass(time.Minute)
		w.want("starts of the next task", w.machine.Starts(id(next, "main")), 0)
		w.gpus.use("GPU-0")
		w.pass(2 * time.Second)
		w.want("status", w.cluster.last(task).Status, spec.Stopped)
		w.wantRunning(id(next, "main"))
	})
}

func TestAGPUThatWasProvenFreeIsNotProvenAgain(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		first := w.cluster.run("t1", withGPUs("main", "GPU-0"))
		w.settle()
		w.machine.Exit(id(first, "main"), 0)
		w.settle()
		looks := w.gpus.looks
		second := w.cluster.run("t2", withGPUs("main", "GPU-0"))
		w.settle()
		w.wantRunning(id(second, "main"))
		w.want("looks at processes", w.gpus.looks-looks, 0)
	})
}

func TestAfterAStartOfTheAgentAGPUIsProvenFreeBeforeItIsUsed(t *testing.T) {
	in(t, func(w *world) {
		w.gpus.use("GPU-0", 4711)
		w.boot()
		task := w.cluster.run("t1", withGPUs("main", "GPU-0"))
		other := w.cluster.run("t2", withGPUs("main", "GPU-1"))
		w.pass(time.Hour)
		w.wantRunning(id(other, "main"))
		w.gpus.use("GPU-0")
		w.pass(2 * time.Second)
		w.wantRunning(id(task, "main"), id(other, "main"))
	})
}

func TestAGPUThatALostContainerStillHoldsIsNotGivenAway(t *testing.T) {
	in(t, func(w *world) {
		stray := specOf("old", "main")
		stray.GPUs = []string{"GPU-0"}
		w.machine.Teach("main", neverLeaves)
		if err := w.machine.Open().Start(w.Context(), stray); err != nil {
			w.Fatal(err)
		}
		task := w.cluster.run("t1", withGPUs("main", "GPU-0"))
		other := w.cluster.run("t2", withGPUs("main", "GPU-1"))
		w.boot()
		w.wantRunning(id("old", "main"), id(other, "main"))
		w.pass(31 * time.Second)
		w.wantRunning(id(task, "main"), id(other, "main"))
	})
}

func TestAGPUThatFellOffTheBusDoesNotHoldItsTask(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		task := w.cluster.run("t1", withGPUs("main", "GPU-0"))
		w.settle()
		w.gpus.lose("GPU-0")
		w.machine.Exit(id(task, "main"), 139)
		w.settle()
		w.want("status", w.cluster.last(task).Status, spec.Stopped)
	})
}

func TestAnUnhealthyGPUIsToldToTheCluster(t *testing.T) {
	in(t, func(w *world) {
		w.boot()
		w.gpus.mu.Lock()
		w.gpus.devices = slices.Clone(w.gpus.devices)
		w.gpus.devices[0].Health, w.gpus.devices[0].Problem = gpu.Unhealthy, "Xid 79"
		w.gpus.mu.Unlock()
		w.gpus.changed <- struct{}{}
		w.settle()
		w.want("health", w.cluster.hosts[hostID].GPUs.Devices[0].Health, gpu.Unhealthy)
	})
}
