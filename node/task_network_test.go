package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// The containers of a task in mode awsvpc share one attachment, which ends with the task, also when Pinion was started anew meanwhile, and when the pool
// does not know the task any more.
func TestTheContainersOfATaskShareItsAddress(t *testing.T) {
	for name, forgets := range map[string]bool{"stopped": false, "unknown to the pool": true} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				task := w.control.assign("t1", spec.TaskDefinition{NetworkMode: "awsvpc", Containers: []spec.ContainerDefinition{container("web"), container("beside")}})
				w.waitIdle()
				w.wantRunning(id(task, "beside"), id(task, "web"))
				if got := w.network.Attached(); !slices.Equal(got, []string{task}) {
					w.Errorf("attached are %v", got)
				}
				w.wantOneAddress(task)
				w.boot()
				w.waitIdle()
				w.wantOneAddress(task)
				w.want("starts", w.machine.StartCount(id(task, "web")), 1)
				if forgets {
					w.control.removeTask(task)
					w.boot()
				} else {
					w.control.stop(task, "")
				}
				w.advance(time.Minute)
				if got := w.network.Attached(); len(got) > 0 {
					w.Errorf("attached are %v, with no task", got)
				}
			})
		})
	}
}

func (w *simHost) wantOneAddress(task string) {
	w.Helper()
	reports := w.control.lastReport(task).Containers
	if reports[0].Address == "" || reports[0].Address != reports[1].Address || len(reports[0].Bindings) > 0 {
		w.Errorf("the containers are reported as %+v", reports)
	}
}

// User namespaces of several containers cannot share a network.
func TestContainersInUserNamespacesShareNoNetwork(t *testing.T) {
	for n, refused := range map[int]bool{1: false, 2: true} {
		simulate(t, func(w *simHost) {
			w.userns = spec.UserNamespacesRequired
			w.boot()
			definition := spec.TaskDefinition{NetworkMode: runtime.NetworkAwsvpc}
			for _, name := range []string{"web", "beside"}[:n] {
				definition.Containers = append(definition.Containers, container(name))
			}
			task := w.control.assign("t1", definition)
			w.waitIdle()
			if got := w.control.lastReport(task); strings.Contains(got.StoppedReason, "awsvpc") != refused {
				w.Errorf("%d containers: %s %s", n, got.Status, got.StoppedReason)
			}
		})
	}
}

// A container without a network has none beside others that have one, in every mode.
func TestAContainerOfATaskHasNoNetwork(t *testing.T) {
	for _, mode := range []string{runtime.NetworkBridge, runtime.NetworkAwsvpc, runtime.NetworkHost} {
		simulate(t, func(w *simHost) {
			w.boot()
			yes, alone, web := true, container("alone"), container("web")
			alone.DisableNetworking = &yes
			task := w.control.assign("t1", spec.TaskDefinition{NetworkMode: mode, Containers: []spec.ContainerDefinition{alone, web}})
			w.waitIdle()
			if got := w.machine.Network(id(task, "alone")); got != runtime.NetworkNone {
				w.Errorf("in mode %s it has the network %q", mode, got)
			}
			if got := w.machine.Network(id(task, "web")); got == runtime.NetworkNone {
				w.Errorf("in mode %s the other one has none, too", mode)
			}
			if got := w.control.lastReport(task).Containers; got[0].Address != "" || (got[1].Address != "") != (mode == runtime.NetworkAwsvpc) {
				w.Errorf("the addresses in mode %s: %+v", mode, got)
			}
		})
	}
}
