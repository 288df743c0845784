package upgrade

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pinion/api/upgrade"
	"pinion/packaging/atomicfile"
)

// machine is a data directory, and a program that answers --version beside which a new one is staged.
type machine struct {
	dataDir, binary, staged string
	attempt                 upgrade.Attempt
}

const (
	programA = "#!/bin/sh\necho pinion version A\n"
	programB = "#!/bin/sh\necho pinion version B\n"
)

func newMachine(t *testing.T) *machine {
	m := &machine{dataDir: t.TempDir(), binary: filepath.Join(t.TempDir(), "pinion")}
	put(t, m.binary, programA)
	m.staged = m.binary + ".new"
	put(t, m.staged, programB)
	m.attempt = upgrade.Attempt{State: upgrade.Checking, Binary: m.binary, At: time.Now(), Timeout: time.Minute}
	var err, errTo error
	m.attempt.From, err = release(t.Context(), m.binary)
	m.attempt.To, errTo = release(t.Context(), m.staged)
	if err := errors.Join(err, errTo); err != nil {
		t.Fatal(err)
	}
	return m
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// end checks how the attempt has ended, and which program is in place.
func (m *machine) end(t *testing.T, name string, state upgrade.State, program string) {
	t.Helper()
	a, err := read(m.dataDir)
	content, readErr := os.ReadFile(m.binary)
	if err != nil || readErr != nil || a.State != state || string(content) != program || (state == upgrade.RolledBack || state == upgrade.Abandoned) != (a.Reason != "") {
		t.Errorf("%s: %+v, in place is %q (%v, %v)", name, a, content, err, readErr)
	}
}

// Wherever a power cut ends an upgrade, the next start finds a whole program, and the attempt has an end after two starts at the most. What was done
// once more, as by the guard and by a start at the same time, changes nothing.
func TestAnUpgradeThatWasCutShortGoesOnOrBack(t *testing.T) {
	record := func(m *machine) error { return write(m.dataDir, &m.attempt) }
	keep := func(m *machine) error { return keepOld(&m.attempt) }
	swap := func(m *machine) error { return atomicfile.Rename(m.staged, m.binary) }
	start := func(m *machine) error { _, err := begin(m.dataDir, m.binary); return err }
	putBack := func(m *machine) error { return atomicfile.Rename(m.binary+oldSuffix, m.binary) }
	fromGuard := func(m *machine) error { return restore(m.dataDir, &m.attempt, "too late") }
	for _, c := range []struct {
		name    string
		steps   []func(*machine) error
		back    bool // the next start starts the previous program
		state   upgrade.State
		program string
	}{
		{"recorded", []func(*machine) error{record}, false, upgrade.RolledBack, programA},
		{"the old one kept", []func(*machine) error{record, keep}, false, upgrade.RolledBack, programA},
		{"in place", []func(*machine) error{record, keep, swap}, false, upgrade.Checking, programB},
		{"started, and not ready", []func(*machine) error{record, keep, swap, start}, true, upgrade.RolledBack, programA},
		{"put back, not recorded", []func(*machine) error{record, keep, swap, start, putBack}, false, upgrade.RolledBack, programA},
		{"put back by the guard", []func(*machine) error{record, keep, swap, start, fromGuard}, false, upgrade.RolledBack, programA},
		{"put back twice", []func(*machine) error{record, keep, swap, start, fromGuard, fromGuard}, false, upgrade.RolledBack, programA},
		{"the previous program is gone", []func(*machine) error{record, keep, swap, start, func(m *machine) error { return os.Remove(m.binary + oldSuffix) }}, false, upgrade.Abandoned, programB},
		{"a third program", []func(*machine) error{record, keep, swap, func(m *machine) error { return os.WriteFile(m.binary, []byte("C"), 0o755) }}, false, upgrade.Abandoned, "C"},
	} {
		m := newMachine(t)
		for _, step := range c.steps {
			if err := step(m); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		back, err := begin(m.dataDir, m.binary)
		if err != nil || back != c.back {
			t.Errorf("%s: back %t, %v", c.name, back, err)
		}
		m.end(t, c.name, c.state, c.program)
	}
}

// A file at the name of the previous program that is another one is never started: somebody has put it there.
func TestOnlyTheProgramOfBeforeIsPutBack(t *testing.T) {
	m := newMachine(t)
	if err := swapProgram(m.dataDir, &m.attempt, m.staged); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(m.binary + oldSuffix); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"", "#!/bin/sh\necho something else\n"} {
		if other != "" {
			put(t, m.binary+oldSuffix, other)
		}
		if err := restore(m.dataDir, &m.attempt, "why"); err == nil || !strings.Contains(err.Error(), m.binary) {
			t.Errorf("%q: %v", other, err)
		}
		m.end(t, "another program", upgrade.Checking, programB)
	}
}

// Starts of other programs with the data directory, and of the same one when no upgrade is under way, count for nothing.
func TestOtherStartsAreNoPartOfAnUpgrade(t *testing.T) {
	m := newMachine(t)
	if back, err := begin(m.dataDir, m.binary); back || err != nil {
		t.Errorf("no upgrade: %t %v", back, err)
	}
	if err := swapProgram(m.dataDir, &m.attempt, m.staged); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if back, err := begin(m.dataDir, "/usr/bin/true"); back || err != nil {
			t.Errorf("another program: %t %v", back, err)
		}
	}
	m.end(t, "other programs", upgrade.Checking, programB)
	put(t, filepath.Join(m.dataDir, journalFile), "{")
	if _, err := begin(m.dataDir, m.binary); err == nil || !strings.Contains(err.Error(), journalFile) {
		t.Errorf("a damaged record: %v", err)
	}
}

// Only the new program says of itself that it works: the previous one, which may be ready later than its upgrade began, says nothing.
func TestOnlyTheNewProgramConfirms(t *testing.T) {
	m := newMachine(t)
	if err := write(m.dataDir, &m.attempt); err != nil {
		t.Fatal(err)
	}
	if err := Confirm(m.dataDir); err != nil {
		t.Fatal(err)
	}
	m.end(t, "another program is ready", upgrade.Checking, programA)
	own, err := digestOf("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	m.attempt.To.Digest = own
	if err := errors.Join(write(m.dataDir, &m.attempt), Confirm(m.dataDir)); err != nil {
		t.Fatal(err)
	}
	m.end(t, "the new program is ready", upgrade.Confirmed, programA)
}

// What is no program of Pinion's is refused before anything is changed, and nothing of it stays behind.
func TestAFileThatIsNotPinionIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"fails": "#!/bin/sh\necho pinion version 3; exit 1\n", "other": "#!/bin/sh\necho docker version 3\n", "nameless": "#!/bin/sh\necho 'pinion version '\n", "data": "\x00\x01",
		"lines": "#!/bin/sh\necho pinion version 3; echo more\n",
	} {
		put(t, filepath.Join(dir, name), content)
	}
	target := filepath.Join(t.TempDir(), "pinion")
	for _, name := range []string{"fails", "other", "nameless", "data", "lines", "missing", "."} {
		if _, err := stage(t.Context(), filepath.Join(dir, name), upgrade.Config{}, &upgrade.Attempt{Binary: target}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(target)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// There has to be a host that can be started again by itself, and no other upgrade.
func TestWhatCannotBeUpgradedIsRefused(t *testing.T) {
	m := newMachine(t)
	config := upgrade.Config{DataDir: m.dataDir}
	if _, err := target(config); err == nil || !strings.Contains(err.Error(), "no pinion runs") {
		t.Errorf("nothing runs: %v", err)
	}
	if _, err := target(upgrade.Config{DataDir: filepath.Join(m.dataDir, "missing")}); err == nil || !strings.Contains(err.Error(), "no pinion runs") {
		t.Errorf("no data directory: %v", err)
	}
	if back, err := begin(m.binary, m.binary); back || err != nil {
		t.Errorf("a file for a data directory is for others to refuse: %t %v", back, err)
	}
	if err := write(m.dataDir, &m.attempt); err != nil {
		t.Fatal(err)
	}
	if _, err := target(config); err == nil || !strings.Contains(err.Error(), "pinion upgrade status") {
		t.Errorf("one is under way: %v", err)
	}
	for arg, wrong := range map[string]bool{"-": true, "--token-file=-": true, "ask": true, "--unlock=ask": true, "--token-file": false, "/a/token": false, "file:/task": false} {
		if readsInput(arg) != wrong {
			t.Errorf("%s", arg)
		}
	}
}

func init() {
	if os.Getenv(phaseVariable) == "leaderless" {
		runtime.LockOSThread() // main has the first thread then
	}
}

// leaderless is a process whose first thread has ended, as that of one which starts another program from another thread.
func leaderless() {
	begun := make(chan struct{})
	go func() {
		close(begun)
		bufio.NewReader(os.Stdin).ReadString('\n') // or the end
		os.Exit(0)
	}()
	<-begun
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// A process lives until its last thread has ended: the guard would kill a host that is about to start the new program, and put the previous one back.
func TestAProcessThatStartsAnotherProgramIsAlive(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), phaseVariable+"=leaderless")
	in, err := cmd.StdinPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	now, err := status(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p := process{pid: cmd.Process.Pid, started: now.started}
	for deadline := time.Now().Add(time.Minute); now.state != "Z" && err == nil && time.Now().Before(deadline); now, err = status(p.pid) {
	}
	if err != nil || now.state != "Z" || !p.alive() {
		t.Errorf("%+v %v, alive: %t", now, err, p.alive())
	}
	in.Close()
	for deadline := time.Now().Add(time.Minute); p.alive() && time.Now().Before(deadline); {
	}
	if p.alive() { // though nobody has waited for it
		t.Error("it is alive after its end")
	}
	cmd.Wait()
}

// A process is known by its pid and its start, and is started again with its arguments, environment and directory.
func TestAProcessIsStartedAsItWas(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/bin/sh", "-c", `echo "$WORD" "$PWD" >> out; read end`) // which nobody says
	cmd.Dir, cmd.Env = dir, []string{"WORD=secret", "INVOCATION_ID=ours, and its parent is not systemd"}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	lines := func(n int) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for ctx.Err() == nil {
			if out, _ := os.ReadFile(filepath.Join(dir, "out")); strings.Count(string(out), "secret "+dir+"\n") == n {
				return
			}
		}
		t.Errorf("it did not write line %d", n)
	}
	lines(1)
	p, err := describe(cmd.Process.Pid)
	if err != nil || p.systemd || !p.alive() {
		t.Fatalf("%+v %v", p, err)
	}
	other := *p
	other.started += "0"
	if other.alive() {
		t.Error("another process with the same pid counts as this one")
	}
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	p.binary, p.args = "/bin/sh", []string{"sh", "-c", `echo "$WORD" "$PWD" >> out`}
	if err := p.start(nil, nil); err != nil {
		t.Fatal(err)
	}
	lines(2)
}
