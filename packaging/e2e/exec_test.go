package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"pinion/api/client"
)

// runForExec starts a task that commands may be run in, and returns its id.
func (h *host) runForExec(t testing.TB, family string, more ...object) string {
	t.Helper()
	h.registerShell(t, family, 0, "trap exit TERM; sleep 3600 & wait", more...)
	a := h.mustCall(t, "RunTask", object{"taskDefinition": family, "enableExecuteCommand": true})
	id := lastPart(a.text("tasks", 0, "taskArn"))
	t.Cleanup(func() { h.pinion(t, "stop", "--force", id) })
	h.waitStatus(t, id, "RUNNING")
	return id
}

func lastPart(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

func TestACommandRunsInARunningTask(t *testing.T) {
	h := sharedHost(t)
	id := h.runForExec(t, "exec", object{"environment": []object{{"name": "COLOUR", "value": "green"}}})

	t.Run("with the environment of the container", func(t *testing.T) {
		if out := h.pinion(t, "exec", id, "sh", "-c", "echo $COLOUR"); out != "green\n" {
			t.Errorf("it says %q", out)
		}
	})
	t.Run("its exit code and its standard error come back", func(t *testing.T) {
		command := exec.Command(binary, "--data-dir", h.dir, "exec", id, "--", "sh", "-c", "echo out; echo err >&2; exit 7")
		var stdout, stderr bytes.Buffer
		command.Stdout, command.Stderr = &stdout, &stderr
		_ = command.Run() // its exit code is looked at
		if command.ProcessState.ExitCode() != 7 || stdout.String() != "out\n" || stderr.String() != "err\n" {
			t.Errorf("exit code %d, %q and %q", command.ProcessState.ExitCode(), &stdout, &stderr)
		}
	})
	t.Run("a program that the container does not have", func(t *testing.T) {
		command := exec.Command(binary, "--data-dir", h.dir, "exec", id, "no-such-program")
		out, _ := command.CombinedOutput()
		if command.ProcessState.ExitCode() != 127 || !strings.Contains(string(out), "no-such-program") {
			t.Errorf("exit code %d: %s", command.ProcessState.ExitCode(), out)
		}
	})
	t.Run("100 MB of input and of output arrive whole", func(t *testing.T) {
		command := exec.Command(binary, "--data-dir", h.dir, "exec", "-i", id, "cat")
		sent, got := sha256.New(), sha256.New()
		command.Stdin = io.TeeReader(io.LimitReader(&pattern{}, 100<<20), sent)
		command.Stdout = got
		if err := command.Run(); err != nil || !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
			t.Errorf("%v, %x and %x", err, sent.Sum(nil), got.Sum(nil))
		}
	})
	t.Run("the audit log has it", func(t *testing.T) {
		if log := h.pinion(t, "audit", "-o", "json"); !strings.Contains(log, "exec session ends") || !strings.Contains(log, "exit code 7") || !strings.Contains(log, `echo $COLOUR`) {
			t.Errorf("it has:\n%s", log)
		}
	})
}

// pattern is bytes that are never the same for long.
type pattern struct{ n uint64 }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		p.n = p.n*6364136223846793005 + 1442695040888963407
		b[i] = byte(p.n >> 56)
	}
	return len(b), nil
}

// terminal is a command on a terminal of its own.
type terminal struct {
	t       *testing.T
	command *exec.Cmd
	file    *os.File
	screen  *lockedBuffer
	read    int
}

func onTerminal(t *testing.T, command *exec.Cmd, columns, rows uint16) *terminal {
	t.Helper()
	file, err := pty.StartWithSize(command, &pty.Winsize{Cols: columns, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	s := &terminal{t: t, command: command, file: file, screen: &lockedBuffer{}}
	go io.Copy(s.screen, file)
	t.Cleanup(func() {
		command.Process.Kill()
		file.Close()
	})
	return s
}

// types types a line, and waits until something is shown after all that was shown before.
func (s *terminal) types(line, shows string) {
	s.t.Helper()
	s.read = len(s.screen.String())
	fmt.Fprintf(s.file, "%s\r", line)
	s.shows(shows)
}

func (s *terminal) shows(what string) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("the terminal shows:\n%s", s.screen)
		}
	}()
	eventually(s.t, fmt.Sprintf("the terminal shows %q", what), func() bool { return strings.Contains(s.screen.String()[s.read:], what) })
}

func TestAShellOnATerminal(t *testing.T) {
	h := sharedHost(t)
	id := h.runForExec(t, "exec-shell")
	s := onTerminal(t, exec.Command(binary, "--data-dir", h.dir, "exec", "-it", id, "--", "sh"), 120, 40)
	checkShell(t, s)
	s.types("exit 5", "")
	if err := s.command.Wait(); s.command.ProcessState.ExitCode() != 5 {
		t.Errorf("it ends with %v:\n%s", err, s.screen)
	}
}

// checkShell holds a shell on a terminal of 120 columns and 40 rows to what people expect of one.
func checkShell(t *testing.T, s *terminal) {
	t.Helper()
	s.types("stty size", "40 120")
	if err := pty.Setsize(s.file, &pty.Winsize{Cols: 90, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the terminal has its new size", func() bool {
		s.types("stty size; echo size$((3+3))", "size6")
		return strings.Contains(s.screen.String()[s.read:], "30 90")
	})
	s.types("echo begin$((1+1)); sleep 1000", "begin2")
	s.read = len(s.screen.String())
	fmt.Fprint(s.file, "\x03")
	s.shows("^C") // what is typed before that is dropped with it
	s.types("echo after$((2+2))", "after4")
}

func TestTwoHundredSessionsAtOnce(t *testing.T) {
	h := sharedHost(t)
	id := h.runForExec(t, "exec-many", object{"memory": 512})
	const sessions = 200
	ctx, cancel := context.WithTimeout(context.Background(), 2*waitTimeout)
	defer cancel()
	var group, running sync.WaitGroup
	running.Add(sessions)
	release := make(chan struct{})
	go func() { running.Wait(); close(release) }()
	errs := make(chan error, 2*sessions)
	for n := range sessions {
		group.Go(func() {
			counted := sync.OnceFunc(running.Done)
			in, keys := io.Pipe()
			screen, shown := io.Pipe()
			go func() {
				defer keys.Close()
				fmt.Fprintf(keys, "%d\n", n)
				line := make([]byte, 64)
				k, _ := screen.Read(line)
				counted()
				if string(line[:k]) != fmt.Sprintf("%d\n", n) {
					errs <- fmt.Errorf("session %d shows %q", n, line[:k])
				}
				<-release // all are open at once
			}()
			code, err := h.api.Exec(ctx, id, client.ExecRequest{Command: []string{"cat"}, Stdin: in, Stdout: shown, Stderr: io.Discard})
			if err != nil || code != 0 {
				errs <- fmt.Errorf("session %d ends with %d, %w", n, code, err)
				counted()
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func TestExecIsRefusedWhereTheTaskDoesNotAllowIt(t *testing.T) {
	h := sharedHost(t)
	h.registerShell(t, "exec-none", 0, "trap exit TERM; sleep 3600 & wait")
	id := h.runTask(t, "exec-none")
	h.waitStatus(t, id, "RUNNING")
	key := decode(t, h.pinion(t, "key", "create", "--role", "submit", "-o", "json"))
	t.Cleanup(func() { h.pinion(t, "key", "rm", key.text("accessKeyId")) })
	asSubmit := []string{"--host", h.listen, "--ca", h.envMap(t)["AWS_CA_BUNDLE"], "--key-id", key.text("accessKeyId"), "--secret", key.text("secretAccessKey")}
	if out, err := output(exec.Command(binary, append(asSubmit, "exec", id, "true")...)); err == nil || !strings.Contains(err.Error(), "enableExecuteCommand") {
		t.Errorf("a key of the role submit: %q, %v", out, err)
	}
	h.pinion(t, "exec", id, "true") // root is an administrator
	h.pinion(t, "stop", "--force", id)
	if out, err := h.tryPinion("exec", id, "true"); err == nil || !strings.Contains(err.Error(), "STOPPED") {
		t.Errorf("in a stopped task: %q, %v", out, err)
	}
}

func TestFilesAreCopiedToATaskAndBack(t *testing.T) {
	h := sharedHost(t)
	id := h.runForExec(t, "exec-copy")
	dir := t.TempDir()
	writeFile(t, dir, "one", "first")
	h.pinion(t, "cp", dir, id+":/tmp/there")
	if out := h.pinion(t, "exec", id, "cat", "/tmp/there/one"); out != "first" {
		t.Errorf("the task has %q", out)
	}
	h.pinion(t, "exec", id, "sh", "-c", "echo second > /tmp/there/two")
	h.pinion(t, "cp", id+":/tmp/there", filepath.Join(dir, "back"))
	if text, err := os.ReadFile(filepath.Join(dir, "back", "two")); err != nil || string(text) != "second\n" {
		t.Errorf("%q, %v", text, err)
	}
	h.pinion(t, "cp", filepath.Join(dir, "one"), id+":/tmp/there") // into the directory that is there
	h.pinion(t, "cp", id+":/tmp/there/one", dir)
	if out, err := h.tryPinion("cp", id+":/tmp/nothing", dir); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("%q, %v", out, err)
	}
}

// By `pinion shell`, and by `pinion run -it` as people know it of docker.
func TestATaskEndsWithItsShell(t *testing.T) {
	h := sharedHost(t)
	for _, line := range [][]string{{"shell", "--gpus", "1", "--name", "mine", "busybox"}, {"run", "-it", "--gpus", "1", "--name", "mine", "busybox"}, {"run", "-it", "--gpus", "1", "--name", "mine", "busybox", "--", "sh"}} {
		t.Run(strings.Join(line, " "), func(t *testing.T) { checkTaskOfShell(t, h, line) })
	}
	command := exec.Command(binary, "--data-dir", h.dir, "run", "-i", "--name", "mine", "busybox", "--", "sh", "-c", "tr a-z A-Z; exit 3")
	command.Stdin = strings.NewReader("of a pipe\n")
	if out, _ := command.Output(); string(out) != "OF A PIPE\n" || command.ProcessState.ExitCode() != 3 {
		t.Errorf("without a terminal: %q and exit code %d", out, command.ProcessState.ExitCode())
	}
}

func checkTaskOfShell(t *testing.T, h *host, line []string) {
	t.Helper()
	s := onTerminal(t, exec.Command(binary, append([]string{"--data-dir", h.dir}, line...)...), 120, 40)
	s.shows("/ # ")
	s.types("echo gpu=$NVIDIA_VISIBLE_DEVICES; stty size", "gpu=GPU-")
	s.shows("40 120")
	s.types("exit 4", "")
	if err := s.command.Wait(); s.command.ProcessState.ExitCode() != 4 {
		t.Errorf("it ends with %v:\n%s", err, s.screen)
	}
	eventually(t, "the task has stopped", func() bool { return !strings.Contains(h.pinion(t, "ps"), "run-mine") })
}

func TestAPortOfATaskIsReachedFromHere(t *testing.T) {
	h := sharedHost(t)
	h.mustCall(t, "RegisterTaskDefinition", object{"family": "exec-port", "networkMode": "none", "containerDefinitions": []object{
		{"name": "main", "image": "pinion/self", "memory": 64, "command": []string{"/pinion", "hello"}},
	}})
	id := lastPart(h.mustCall(t, "RunTask", object{"taskDefinition": "exec-port", "enableExecuteCommand": true}).text("tasks", 0, "taskArn"))
	t.Cleanup(func() { h.pinion(t, "stop", "--force", id) })
	h.waitStatus(t, id, "RUNNING")
	_, local, _ := strings.Cut(freeAddress(t), ":")
	command := exec.Command(binary, "--data-dir", h.dir, "port-forward", id, local+":8080")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { command.Process.Kill() })
	eventually(t, "it answers", func() bool {
		answer, err := http.Get("http://127.0.0.1:" + local + "/")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return strings.Contains(string(text), id)
	})
	command.Process.Signal(os.Interrupt)
	command.Wait() // Ctrl-C ends it
}
