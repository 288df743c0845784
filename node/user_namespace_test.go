package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// ids is the range of ids of a container's user namespace.
func (w *simHost) ids(container string) runtime.IDRange { return w.machine.IDs(container) }

// wantIDLinks checks how many ranges of ids tasks have.
func (w *simHost) wantIDLinks(n int) {
	w.Helper()
	links, err := os.ReadDir(filepath.Join(w.dir, "ids"))
	if err != nil || len(links) != n {
		w.Errorf("%d ranges are taken, %v, want %d", len(links), err, n)
	}
}

// The containers of a task have the same ids, those of two tasks have none in common, and what runs keeps them over a restart of the agent,
// whatever the cluster wants by then.
func TestEachTaskHasIDsOfItsOwn(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.userns = spec.UserNamespacesAvailable
		w.boot()
		plain := w.control.run("t0", container("main"))
		w.control.rules.UserNamespaces = true
		one, other := w.control.run("t1", container("main"), container("side")), w.control.run("t2", container("main"))
		w.waitIdle()
		first, second := w.ids(id(one, "main")), w.ids(id(other, "main"))
		w.want("without user namespaces", w.ids(id(plain, "main")), runtime.IDRange{})
		w.want("a container of the same task", w.ids(id(one, "side")), first)
		if first.First < 1<<31 || second.First < 1<<31 || first == second || first.First%runtime.IDRangeSize != 0 || second.First%runtime.IDRangeSize != 0 {
			w.Errorf("the ids are %v and %v", first, second)
		}
		w.wantIDLinks(2)
		w.crash()
		w.control.rules.UserNamespaces = false
		w.boot()
		w.want("after a restart", w.ids(id(one, "main")), first)
		w.wantIDLinks(2)
		for _, task := range []string{plain, one, other} {
			w.control.forceStop(task)
		}
		w.waitIdle()
		w.wantNothingLeft()
		w.wantIDLinks(0)
	})
}

// A container that is started again is what the task's other containers are.
func TestARestartedContainerHasTheIDsOfItsTask(t *testing.T) {
	for name, wanted := range map[string]bool{"started in user namespaces": true, "started without": false} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.userns = spec.UserNamespacesAvailable
				w.boot()
				w.control.rules.UserNamespaces = wanted
				task := w.control.run("t1", restartable("main"), container("side"))
				w.waitIdle()
				before := w.ids(id(task, "main"))
				w.want("that it has ids", !before.IsZero(), wanted)
				w.crash()
				w.control.rules.UserNamespaces = !wanted
				w.boot()
				w.advance(time.Minute)
				w.machine.Exit(id(task, "main"), 1)
				w.waitIdle()
				w.want("starts", w.machine.StartCount(id(task, "main")), 2)
				w.want("ids of the second", w.ids(id(task, "main")), before)
			})
		})
	}
}

// A host runs a task as strictly as the cluster or its operator says, or not at all.
func TestUserNamespacesAreNeverLeftOutSilently(t *testing.T) {
	hostNetwork := spec.TaskDefinition{NetworkMode: "host", Containers: []spec.ContainerDefinition{container("main")}}
	usual := spec.TaskDefinition{Containers: []spec.ContainerDefinition{container("main")}}
	for name, c := range map[string]struct {
		host       spec.UserNamespaces
		cluster    bool
		definition spec.TaskDefinition
		want       string // of the refusal; empty: it runs
		ids        bool
	}{
		"nobody asks":                       {spec.UserNamespacesAvailable, false, usual, "", false},
		"the cluster asks":                  {spec.UserNamespacesAvailable, true, usual, "", true},
		"the host asks":                     {spec.UserNamespacesRequired, false, usual, "", true},
		"the host cannot":                   {"", true, usual, "setting userNamespaces", false},
		"it shares the network":             {spec.UserNamespacesAvailable, true, hostNetwork, "networkMode host", false},
		"it shares the network of a strict": {spec.UserNamespacesRequired, false, hostNetwork, "--user-namespaces", false},
		"it shares the network, unasked":    {spec.UserNamespacesAvailable, false, hostNetwork, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.userns, w.control.rules.UserNamespaces = c.host, c.cluster
				w.boot()
				task := w.control.assign("t1", c.definition)
				w.waitIdle()
				if c.want == "" {
					w.wantRunning(id(task, "main"))
					w.want("that it has ids", !w.ids(id(task, "main")).IsZero(), c.ids)
					return
				}
				report := w.control.lastReport(task)
				if report.StopCode != spec.StopFailedToStart || !strings.Contains(report.StoppedReason, c.want) {
					w.Errorf("the reason is %q, want %q", report.StoppedReason, c.want)
				}
				w.wantNothingLeft()
			})
		})
	}
}

// A crash between any two steps leaves ids neither with two tasks nor with none for ever.
func TestIDsOfATaskThatIsGoneAreGivenBack(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.userns = spec.UserNamespacesRequired
		for _, dir := range []string{"ids", "tasks/left"} {
			if err := os.MkdirAll(filepath.Join(w.dir, dir), 0o700); err != nil {
				w.Fatal(err)
			}
		}
		for first, owner := range map[string]string{"2147483648": "gone", "2147549184": "left"} {
			if err := os.Symlink(owner, filepath.Join(w.dir, "ids", first)); err != nil {
				w.Fatal(err)
			}
		}
		if err := task.SweepIDs(w.dir); err != nil {
			w.Fatal(err)
		}
		w.wantIDLinks(1)
		running := w.control.run("left", container("main")) // its start was cut short before it had noted its ids
		w.boot()
		w.wantRunning(id(running, "main"))
	})
}
