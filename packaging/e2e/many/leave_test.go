package many

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/node/containerd"
	"pinion/node/containerd/daemon"
	"pinion/packaging/testbed"
)

// TestHostsLeaveUntilOneIsLeft takes away a follower and then the leader, each with one command on its own machine; what
// is left goes on.
func TestHostsLeaveUntilOneIsLeft(t *testing.T) {
	p := up(t, []string{"--gpus", "sim:1xt4"}, []string{"--gpus", "sim:1xt4"}, []string{"--gpus", "sim:1xt4"})
	p.waitConverged(t)
	p.define(t, "after", 1, onceScript)
	first, last, follower := p.Hosts()[0], p.Hosts()[1], p.Hosts()[2]
	if out, _ := follower.Pinion("doctor", "--all", "-o", "json"); strings.Count(out, `"check": "kernel"`) != 3 {
		t.Errorf("the hosts check their machines: %s", out)
	}
	for _, leaving := range []interface {
		Pinion(args ...string) (string, error)
	}{follower, first} {
		if out, err := leaving.Pinion("leave", "--force"); err != nil || !strings.Contains(out, "has left") {
			t.Fatalf("leave: %q, %v", out, err)
		}
	}
	var answer tasks
	eventually(t, "the host that is left takes tasks", func() bool { // once its agent is in touch with its own server
		p.mustCall(t, last, "RunTask", namedRunTask("after", "after"), &answer)
		return len(answer.Tasks) == 1
	})
	p.wait(t, last, answer.Tasks[0].id(), "STOPPED")
	if out, err := last.Pinion("hosts"); err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("hosts: %q, %v", out, err)
	}
}

// TestARemovedHostEndsItsTasksWhenItComesBack removes a host while its pinion is down and its task runs on. The task is over for the pool,
// and says why; the host hears of it at its next start, ends the task, and can be cleaned up without force.
func TestARemovedHostEndsItsTasksWhenItComesBack(t *testing.T) {
	p := up(t, []string{"--gpus", "sim:1xt4"}, []string{"--gpus", "sim:1xt4"})
	stays, goes := p.Hosts()[0], p.Hosts()[1]
	eventually(t, "each host runs a task", func() bool {
		_, _ = stays.Pinion("run", "-d", "--gpus", "1", "--no-wait", "pinion/self", "--", "pinion", "pause")
		there, err := stays.Pinion("ps", "-q", "--filter", "host="+goes.Name, "--filter", "status=RUNNING")
		return err == nil && there != ""
	})
	id, err := stays.Pinion("ps", "-q", "--filter", "host="+goes.Name)
	must(t, err)
	id = strings.TrimSpace(id)
	must(t, goes.Kill(t.Context()))
	p.untilDone(t, func() *testbed.Host { return stays }, "hosts", "rm", "--force", goes.Name)
	if list, err := stays.Pinion("ps", "-a"); err != nil || !strings.Contains(list, goes.Name+" was removed") {
		t.Errorf("the task of the removed host does not say why it is over: %v\n%s", err, list)
	}
	socket := daemon.Socket(filepath.Join(goes.Dir, "containerd"))
	if running, err := containerd.RunningTasks(t.Context(), socket, ""); err != nil || !slices.Equal(running, []string{id}) {
		t.Fatalf("the task is to run on while its host does not know: %v, %v", running, err)
	}
	must(t, goes.StartDetached())
	eventually(t, "the host ends its task, and itself", func() bool {
		running, err := containerd.RunningTasks(t.Context(), socket, "")
		return err == nil && len(running) == 0 && goes.PID() == 0
	})
	if out, err := goes.Pinion("down", "--purge"); err != nil {
		t.Errorf("pinion down --purge: %v\n%s", err, out)
	}
}
