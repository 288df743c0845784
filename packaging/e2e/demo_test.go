package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// demo runs `pinion demo` with a directory of its own for temporary files, which is to be empty afterwards. saw is told each line.
func demo(t *testing.T, saw func(p *os.Process, line string), args ...string) (said string, err error) {
	t.Helper()
	temporary := t.TempDir()
	command := exec.Command(binary, append([]string{"demo"}, args...)...)
	command.Env = append(os.Environ(), "TMPDIR="+temporary)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		saw(command.Process, lines.Text())
	}
	err = command.Wait()
	if left, unread := os.ReadDir(temporary); unread != nil || len(left) > 0 {
		t.Errorf("it has left %v %v", left, unread)
	}
	if left, unread := exec.Command("pgrep", "-f", temporary).Output(); len(left) > 0 {
		t.Errorf("processes %s run on (%v)", left, unread)
	}
	return said, err
}

// The demonstration runs a task on two GPUs, and leaves nothing behind.
func TestTheDemo(t *testing.T) {
	said, err := demo(t, func(*os.Process, string) {})
	if err != nil || strings.Count(said, "\nGPU ") != 2 || !strings.HasSuffix(strings.TrimSpace(said), "Cleaning up") {
		t.Errorf("%v\n%s", err, said)
	}
}

// The host of a demonstration stays until it is told to end, and then nothing is left of it.
func TestADemoThatStays(t *testing.T) {
	said, err := demo(t, func(p *os.Process, line string) {
		if strings.Contains(line, "The host runs on until Ctrl-C") {
			_ = p.Signal(syscall.SIGINT)
		}
	}, "--stay")
	if err != nil || !strings.Contains(said, "exit code 0") {
		t.Errorf("%v\n%s", err, said)
	}
}
