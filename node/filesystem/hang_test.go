package filesystem_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/filesystem"
	"pinion/packaging/backoff"
)

// until waits for what happens beside the test.
func (n *nas) until(what string, happened func() bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 20*time.Second)
	defer cancel()
	for !happened() {
		if backoff.Sleep(ctx, 10*time.Millisecond) != nil {
			n.t.Fatalf("not seen: %s; log:\n%s", what, &n.log)
		}
	}
}

// A server that does not answer holds up the tasks that want it until they are stopped, and nothing else. Only one program waits for it, however
// many tasks do; when it answers late, and nobody wants it any more, it is unmounted.
func TestAServerThatHangs(t *testing.T) {
	n := newNAS(t, "#!/bin/sh\n case \"$*\" in *hangs*) echo $$ >> \"$(dirname \"$0\")/hanging\"; read answer < \"$(dirname \"$0\")/answer\";; esac\n"+mountTmpfs[len("#!/bin/sh\n"):], "models=nfs:hangs:/x", "other=nfs:nas:/x")
	if err := unix.Mkfifo(filepath.Join(n.dir, "answer"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	users := []user{n.task("a", "models", ""), n.task("b", "models", ""), n.task("c", "models", "")}
	for _, u := range users {
		go func() {
			_, err := u.start(ctx)
			ended <- err
		}()
	}
	hanging := func() int {
		text, _ := os.ReadFile(filepath.Join(n.dir, "hanging"))
		return len(text)
	}
	n.until("mount hangs", func() bool { return hanging() > 0 })
	n.task("d", "other", "").mustStart()
	once := hanging()
	stop()
	for range users {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a task that was stopped: %v", err)
		}
	}
	if hanging() != once {
		t.Error("several programs wait for the same server")
	}
	released := make(chan struct{})
	go func() {
		for _, u := range users {
			u.end()
		}
		close(released)
	}()
	answer, err := os.OpenFile(filepath.Join(n.dir, "answer"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(answer, "at last")
	answer.Close()
	<-released
	n.until("what was mounted for nobody is unmounted", func() bool { return len(n.points()) == 1 && len(n.calls()) == 2 })
}

// The end of a host unmounts whatever is there, and leaves what is in the file systems.
func TestUnmountAll(t *testing.T) {
	n := newNAS(t, mountTmpfs, "models=nfs:nas:/x")
	n.task("t", "models", "").mustStart()
	if err := filesystem.UnmountAll(t.Context(), n.config.Dir, n.config.Log); err != nil {
		t.Fatal(err)
	}
	n.wantMounts(0)
	if err := filesystem.UnmountAll(t.Context(), filepath.Join(n.dir, "never-there"), n.config.Log); err != nil {
		t.Error(err)
	}
}

// A mount that takes too long is killed with all that it has started, and the task says so. The next task tries anew.
func TestAMountHasItsTime(t *testing.T) {
	n := newNAS(t, "#!/bin/sh\n[ -e \"$0.slow\" ] && { sleep 1000 & echo $! > \"$0.slow\"; wait; }\n"+mountTmpfs[len("#!/bin/sh\n"):], "models=nfs:nas:/x")
	n.config.Timeout = 300 * time.Millisecond
	n.open()
	slow := n.program("mount.slow", "")
	u := n.task("t", "models", "")
	if _, err := u.start(t.Context()); err == nil || !strings.Contains(err.Error(), "server") {
		t.Errorf("got %v", err)
	}
	pid, err := os.ReadFile(slow)
	if err != nil || len(pid) == 0 {
		t.Fatalf("%q, %v", pid, err)
	}
	n.until("its helper is gone", func() bool {
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
		return err != nil || strings.Contains(string(state), ") Z ")
	})
	if err := os.Remove(slow); err != nil {
		t.Fatal(err)
	}
	u.mustStart()
	u.end()
	n.wantMounts(0)
}

// A file system that a process of the host stands in is unmounted lazily, which the log says.
func TestABusyFileSystemIsUnmountedLazily(t *testing.T) {
	n := newNAS(t, mountTmpfs, "models=nfs:nas:/x")
	u := n.task("t", "models", "")
	stays, err := os.Open(u.mustStart())
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Close()
	u.end()
	n.wantMounts(0)
	if !strings.Contains(n.log.String(), "lazily") {
		t.Errorf("the log says %s", &n.log)
	}
}
