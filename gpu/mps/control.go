// Package mps runs the control daemon of NVIDIA's Multi-Process Service for one shared GPU, and finds out whether it serves. There is one
// daemon per GPU, because a fatal fault of a server stops it for new clients on all of its GPUs.
package mps

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Health is the state of a control daemon, as a probe finds it.
type Health string

// The three outcomes of a probe. They differ in what is to be done: nothing, start a daemon, end the one that is there.
const (
	Serving    Health = "serving"
	NotServing Health = "not serving"
	Wedged     Health = "wedged" // it is there and does not answer
)

const (
	// commandTimeout bounds one command.
	commandTimeout = 3 * time.Second
	// probeAttempts bounds the probes of one Gate; probeDelay is the pause between two.
	probeAttempts = 3
	probeDelay    = 100 * time.Millisecond
	// probeCommand has an answer that is known: a percentage. The utility exits with 0 for commands that it does not know, too.
	probeCommand = "get_default_active_thread_percentage"
)

// Control speaks to the control daemon of one GPU through NVIDIA's utility, which is the daemon's own program.
type Control struct {
	Program string        // path of nvidia-cuda-mps-control
	Dir     string        // of this GPU alone: has the directories of the daemon's pipes and logs
	Timeout time.Duration // of a command; 0: 3 s
}

// PipeDir is the directory of the daemon's pipes, which its clients need.
func (c Control) PipeDir() string { return filepath.Join(c.Dir, "pipe") }

func (c Control) logDir() string { return filepath.Join(c.Dir, "log") }

// environment is the environment of the daemon and of the utility. No variable of this process is in it, so none says which GPUs they see.
func (c Control) environment(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "CUDA_MPS_PIPE_DIRECTORY=" + c.PipeDir(), "CUDA_MPS_LOG_DIRECTORY=" + c.logDir()}, more...)
}

func (c Control) timeout() time.Duration { return cmp.Or(c.Timeout, commandTimeout) }

// errTimeout is the error of a command that was not answered in time.
var errTimeout = errors.New("the MPS control daemon did not answer in time")

// Do has the daemon carry out a command, and returns its answer. The error wraps errTimeout when there was none in time.
func (c Control) Do(ctx context.Context, command string) (string, error) {
	limit := c.timeout()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	var output bytes.Buffer
	utility := exec.CommandContext(ctx, c.Program)
	utility.Stdin, utility.Stdout, utility.Stderr = strings.NewReader(command+"\n"), &output, &output
	utility.Env, utility.WaitDelay = c.environment(), limit
	err := utility.Run()
	text := strings.TrimSpace(output.String())
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", command, context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("%s: %w: %s", command, err, text)
	}
	return text, nil
}

// Probe asks the daemon once, and says in words what it has found unless it serves.
func (c Control) Probe(ctx context.Context) (found Health, why string) {
	answer, err := c.Do(ctx, probeCommand)
	switch {
	case errors.Is(err, errTimeout):
		return Wedged, err.Error()
	case err != nil:
		return NotServing, err.Error()
	}
	if _, err := strconv.ParseFloat(answer, 64); err != nil {
		return NotServing, fmt.Sprintf("%s was answered with %.100q, which is no percentage", probeCommand, answer)
	}
	return Serving, ""
}

// WaitServing returns nil when the daemon serves: a container that starts while it does not would run without its limits, and nobody would
// notice. It asks three times before it gives up.
func (c Control) WaitServing(ctx context.Context) error {
	var found Health
	var why string
	for range probeAttempts {
		if found, why = c.Probe(ctx); found == Serving {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(probeDelay):
		}
	}
	return fmt.Errorf("the MPS control daemon is %s: %s", found, why)
}
