package containerd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/containerd/daemon"
	"pinion/node/runtime"
)

func TestTasksOutliveContainerdWithoutAHoleInTheLog(t *testing.T) {
	h := newHost(t).withBusybox()
	const lines = 300
	c := h.start(sh(fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo $i; i=$((i+1)); usleep 10000; done; exit 7", lines)))
	ended := make(chan runtime.Exit)
	go func() { ended <- h.wait(c) }()
	for range 2 {
		before := h.daemonPID()
		h.awaitLine(c, "0")
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		h.awaitNewDaemon(before)
	}
	found, err := h.runtime.List(h.ctx())
	if err != nil || len(found) != 1 || found[0].PID == 0 || found[0].StartedAt.IsZero() {
		t.Errorf("after the restart: %+v, %v", found, err)
	}
	if exit := <-ended; exit.Code != 7 || exit.Lost != "" {
		t.Errorf("exit %+v", exit)
	}
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i)
	}
	if out := h.output(c); out != want.String() {
		t.Errorf("the log has holes: %q", out)
	}
}

// awaitNewDaemon waits until another process than before answers.
func (h *host) awaitNewDaemon(before int) {
	h.t.Helper()
	for back := false; !back; {
		pid := h.daemonPID()
		back = pid != before && strings.Contains(h.log.String(), fmt.Sprintf(`msg="containerd is back" pid=%d`, pid))
		if _, err := h.runtime.List(h.ctx()); err != nil && h.ctx().Err() != nil {
			h.t.Fatal(err)
		}
	}
}

func TestWhatEndedWhileContainerdWasAwayIsReported(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done"))
	h.awaitLine(c, "up")
	pid := h.pidOf(c)
	h.daemon.Close()
	h.runtime.Close()
	if err := h.daemon.Stop(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pid)
	h.startDaemon()
	h.open()
	if exit := h.wait(c); exit.Code != 9 || exit.Lost != "" {
		t.Errorf("exit %+v", exit)
	}
}

func (h *host) pidOf(c runtime.ContainerSpec) int {
	h.t.Helper()
	found, err := h.runtime.List(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range found {
		if f.ID == c.ID {
			return f.PID
		}
	}
	h.t.Fatalf("%s is not listed", c.ID)
	return 0
}

// awaitGone waits for the end of a process that is not a child.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds())); n == 0 {
		t.Fatalf("process %d does not end: %v", pid, err)
	}
}

func TestARunningDaemonIsTakenOver(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("echo up; exec sleep 1000"))
	before := h.daemonPID()
	if err := h.daemon.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(h.dir, "containerd", "containerd.pid")); err != nil {
		t.Fatal(err)
	}
	h.startDaemon() // found by its socket
	if h.daemonPID() != before {
		t.Errorf("pid %d before, %d after", before, h.daemonPID())
	}
	if h.pidOf(c) == 0 {
		t.Error("the container does not run any more")
	}
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil { // supervised as if it were our own child
		t.Fatal(err)
	}
	h.awaitNewDaemon(before)
	h.daemon.Close()
	before = h.daemonPID()
	config := filepath.Join(h.dir, "containerd", "config.toml")
	if err := os.WriteFile(config, []byte("version = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.startDaemon() // its configuration is not what it should be
	if h.daemonPID() == before {
		t.Error("a daemon with another configuration was not replaced")
	}
	if h.pidOf(c) == 0 {
		t.Error("the container does not run any more")
	}
}

func TestADaemonThatCannotStartSaysWhy(t *testing.T) {
	h := newHost(t)
	dir := shortDir(t)
	if err := os.WriteFile(filepath.Join(dir, "root"), nil, 0o600); err != nil { // where a directory must be
		t.Fatal(err)
	}
	_, err := daemon.Start(h.ctx(), daemon.Config{
		Containerd: h.tools.Containerd, Shim: h.tools.Shim, Runc: h.tools.Runc, Dir: dir, Log: h.logger(),
	})
	if err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("it answers %v", err)
	}
}

func TestManyAtOnceWhileContainerdDies(t *testing.T) {
	h := newHost(t).withBusybox()
	const tasks = 16
	killed := make(chan struct{})
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() {
			c := h.task(sh(fmt.Sprintf("echo up; usleep 300000; exit %d", i)))
			if err := h.runtime.Start(h.ctx(), c); err != nil {
				t.Errorf("start %d: %v", i, err)
				return
			}
			exit, err := h.runtime.Wait(h.ctx(), c.ID)
			if err != nil || exit.Code != i {
				t.Errorf("exit %d is %+v, %v", i, exit, err)
			}
			if out := h.output(c); out != "up\n" {
				t.Errorf("output %d is %q", i, out)
			}
			if err := h.runtime.Remove(h.ctx(), c.ID); err != nil {
				t.Errorf("remove %d: %v", i, err)
			}
			if left := cgroupsOf(c.Task.ID); len(left) > 0 {
				t.Errorf("left of %d: %v", i, left)
			}
		})
	}
	go func() {
		defer close(killed)
		for range 2 {
			before := h.daemonPID()
			syscall.Kill(before, syscall.SIGKILL)
			h.awaitNewDaemon(before)
		}
	}()
	all.Wait()
	<-killed
	if found, err := h.runtime.List(h.ctx()); len(found) > 0 || err != nil {
		t.Errorf("left: %+v, %v", found, err)
	}
}
