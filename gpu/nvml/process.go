package nvml

import (
	"errors"
	"io"
	"os/exec"
	"syscall"
)

// process is a running helper.
type process struct {
	requests io.WriteCloser // closing it asks the helper to end
	messages io.Reader
	stderr   io.Reader
	kill     func()
	wait     func() error // call after messages and stderr have ended; returns the exit error of the helper
}

// startFunc starts a helper.
type startFunc func() (*process, error)

// execHelper starts the helper program. It gets a process group of its own, so that a Ctrl-C for pinion lets it finish.
func execHelper(path string, args ...string) startFunc {
	return func() (*process, error) {
		cmd := exec.Command(path, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		requests, err1 := cmd.StdinPipe()
		messages, err2 := cmd.StdoutPipe()
		stderr, err3 := cmd.StderrPipe()
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		kill := func() {
			requests.Close() // unblocks writers to a helper that hangs in the driver, where SIGKILL has no effect
			cmd.Process.Kill()
		}
		return &process{requests, messages, stderr, kill, cmd.Wait}, nil
	}
}
