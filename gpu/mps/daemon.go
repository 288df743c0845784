package mps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startTimeout bounds how long a daemon takes to serve, quitTimeout how long one takes to end that was asked to.
	startTimeout = 10 * time.Second
	quitTimeout  = 3 * time.Second
	// killTimeout bounds how long a killed process is waited for: one that hangs in the driver does not end.
	killTimeout = 10 * time.Second
	exitPoll    = 20 * time.Millisecond
	// pidFile is the file with the daemon's process id, in the directory of its pipes.
	pidFile = "nvidia-cuda-mps-control.pid"
	// noDaemon is in the output of a program that was given an unknown option: it acts as the utility then.
	noDaemon = "Cannot find MPS control daemon"
)

// start runs a control daemon that sees the GPU alone, and returns when it serves. The caller stops one that does not. It goes on when this process
// ends. Before, the GPU's compute mode is EXCLUSIVE_PROCESS, so that no container goes around the daemon.
func (c Control) start(ctx context.Context, uuid string) error {
	for _, dir := range []string{c.PipeDir(), c.logDir()} {
		if err := os.RemoveAll(dir); err != nil { // the pipes of a daemon that is gone
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	// One server serves the containers of all users: by default each user waits until the clients of the one before have ended.
	daemon := exec.Command(c.Program, "-f", "-multiuser-server")
	daemon.Dir, daemon.Env = "/", c.environment("CUDA_VISIBLE_DEVICES="+uuid)
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	output, err := os.OpenFile(c.outputFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	daemon.Stdout, daemon.Stderr = output, output
	err = daemon.Start()
	_ = output.Close() // the daemon has one of its own
	if err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- daemon.Wait() }()
	return c.waitServing(ctx, exited)
}

// waitServing returns when the daemon serves, or why it will not: it has ended, it hangs, or it takes too long.
func (c Control) waitServing(ctx context.Context, exited <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		found, why := c.Probe(ctx)
		if found == Serving && c.daemonPID() != 0 {
			return nil
		}
		if found == Wedged {
			return fmt.Errorf("the control daemon is %s: %s", found, why)
		}
		select {
		case err := <-exited:
			return c.exitReason(err)
		case <-ctx.Done():
			return fmt.Errorf("the control daemon is %s: %s", found, why)
		case <-time.After(probeDelay):
		}
	}
}

// outputFile is the daemon's output until it has opened its logs.
func (c Control) outputFile() string { return filepath.Join(c.logDir(), "output.log") }

// exitReason says why a daemon has ended before it served.
func (c Control) exitReason(exit error) error {
	output, _ := os.ReadFile(c.outputFile())
	if bytes.Contains(output, []byte(noDaemon)) {
		return errors.New("the MPS of this driver does not know -multiuser-server, which lets containers of several users share a GPU (that of series 550 does not): use a newer driver")
	}
	return fmt.Errorf("the control daemon has ended: %v: %.300s", exit, bytes.TrimSpace(output))
}

// daemonPID is the process id of the daemon, whichever process started it; 0 when none runs. Its environment tells it from a later process with the same
// id.
func (c Control) daemonPID() int {
	text, err := os.ReadFile(filepath.Join(c.PipeDir(), pidFile))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !c.ownedBy(pid) {
		return 0
	}
	return pid
}

// ownedBy reports whether the process is the daemon of this directory, or one that it has started. A process that has ended and was not waited for has no
// environment. What runs in a container is none of them, whatever it has in its environment.
func (c Control) ownedBy(pid int) bool {
	if !sharesNamespaces(pid) {
		return false
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}), func(v []byte) bool {
		return string(v) == "CUDA_MPS_PIPE_DIRECTORY="+c.PipeDir()
	})
}

// sharesNamespaces reports whether the process has the namespaces of this one for process ids and for cgroups, as what this one starts has. A container has
// others, of cgroups too where the kernel has version 2 of them.
func sharesNamespaces(pid int) bool {
	for _, kind := range []string{"pid", "cgroup"} {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			continue // a kernel without such namespaces
		}
		if other, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); err != nil || other != own {
			return false
		}
	}
	return true
}

// servers are the process ids of the servers that the daemon has started and that run.
func servers(daemon int) (pids []int, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", daemon))
	if err != nil || len(threads) == 0 {
		return nil, errors.Join(err, errors.New("the control daemon has ended"))
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // a thread that has ended
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && runs(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, nil
}

// runs reports whether the process runs: one that has ended and was not waited for yet is a zombie (proc_pid_stat(5)).
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte{' '})
	return err == nil && found && state[0] != 'Z' && state[0] != 'X'
}

// stop ends the daemon and its servers, those of a daemon that is gone too: they are asked to quit, and killed when they do not.
func (c Control) stop(ctx context.Context) error {
	if c.daemonPID() != 0 {
		quit := c
		quit.Timeout = min(quitTimeout, c.timeout())
		if _, err := quit.Do(ctx, "quit"); err == nil {
			c.waitExit(ctx, quitTimeout)
		}
	}
	for _, pid := range c.processes() {
		process, err := os.FindProcess(pid) // the signal reaches this process from here on, and no later one
		if err == nil && c.ownedBy(pid) {
			_ = process.Kill()
			_ = process.Release()
		}
	}
	if !c.waitExit(ctx, killTimeout) {
		return fmt.Errorf("processes %v of MPS do not end: see dmesg for what the driver says", c.processes())
	}
	return nil
}

// processes are the daemon, its servers, which have its environment, and utilities.
func (c Control) processes() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && c.ownedBy(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// waitExit reports whether all of them end in time.
func (c Control) waitExit(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for len(c.processes()) > 0 {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(exitPoll):
		}
	}
	return true
}
