package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// upgraded is a host whose program is a file of its own, in a directory with other programs.
type upgraded struct {
	*host
	dir string
}

// program writes a program: the one under test with something behind it, which is another release to everybody who looks at its digest, or a script.
func (u upgraded) program(t *testing.T, name, script string) string {
	t.Helper()
	content := []byte(script)
	if script == "" {
		var err error
		if content, err = os.ReadFile(binary); err != nil {
			t.Fatal(err)
		}
		content = append(content, name...)
	}
	path := filepath.Join(u.dir, name)
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// upgrade runs a command line of `pinion upgrade` with the program in place.
func (u upgraded) upgrade(args ...string) (out string, err error) {
	cmd := exec.Command(filepath.Join(u.dir, "pinion"), append([]string{"--data-dir", u.host.dir, "upgrade"}, args...)...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// state is the state of the last upgrade, and why.
func (u upgraded) state(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(u.dir, "pinion"), "--data-dir", u.host.dir, "upgrade", "status", "-o", "json")
	out, err := cmd.Output()
	var attempt struct{ State, Reason string }
	if err == nil {
		err = json.Unmarshal(out, &attempt)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return attempt.State + " " + attempt.Reason
}

// checkProgram checks which program is in place, and that the host answers.
func (u upgraded) checkProgram(t *testing.T, want string) {
	t.Helper()
	is, err := os.ReadFile(filepath.Join(u.dir, "pinion"))
	if err != nil || !strings.HasSuffix(string(is), want) {
		t.Errorf("in place is another program than %s (%v)", want, err)
	}
	eventually(t, "the host answers", func() bool { _, err := u.api.Hosts(t.Context()); return err == nil })
}

// TestAHostIsUpgradedUnderItsTasks exchanges the program of a host and puts it back, and tries programs that do not work: one that ends, one that hangs, and
// one that is killed before it is ready. The containers of its tasks are the same all the time, and their logs have no gap.
func TestAHostIsUpgradedUnderItsTasks(t *testing.T) {
	u := upgraded{newHost(t, "--gpus", "sim:4xh100"), t.TempDir()}
	u.host.program = u.program(t, "pinion", "")
	t.Cleanup(func() { u.down(t) })
	u.registry = startDockerHub(t)
	u.start(t)
	u.registerShell(t, "count", 1, `i=0; while :; do echo n=$i; i=$((i+1)); usleep 100000; done`)
	tasks := map[string]document{}
	for range 3 {
		tasks[u.runTask(t, "count")] = nil
	}
	for id := range tasks {
		tasks[id] = u.waitStatus(t, id, "RUNNING")
		u.waitLog(t, id, "n=3")
	}
	pid := u.cmd.Process.Pid

	if out, err := u.upgrade("--to", u.program(t, "second", ""), "--dry-run"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	u.checkProgram(t, "pinion")
	if out, err := u.upgrade("--to", u.program(t, "second", "")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	u.checkProgram(t, "second")
	u.checkUnchanged(t, tasks)
	if out, err := u.upgrade("rollback"); err != nil || !strings.HasPrefix(u.state(t), "CONFIRMED") {
		t.Fatalf("%v: %s: %s", err, out, u.state(t))
	}
	u.checkProgram(t, "pinion")
	u.checkUnchanged(t, tasks)
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("the host has another process: %v", err)
	}

	const answers = "#!/bin/sh\n[ \"$1\" = --version ] && echo pinion version 9 && exit\n"
	for name, script := range map[string]string{"ends": answers + "exit 1\n", "hangs": answers + "exec sleep 1000\n"} {
		out, err := u.upgrade("--to", u.program(t, name, script), "--timeout", "5s")
		if err == nil || !strings.HasPrefix(u.state(t), "ROLLED_BACK") {
			t.Errorf("%s: %v: %s: %s", name, err, out, u.state(t))
		}
		u.checkProgram(t, "pinion")
		u.checkUnchanged(t, tasks)
	}
	for id := range tasks {
		checkNoGap(t, u.log(t, id))
	}
}
