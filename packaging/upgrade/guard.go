package upgrade

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/api/upgrade"
)

// Guard restarts the host and waits until the new program has confirmed that it is ready. Otherwise it puts the previous program back and
// has it started. When the guard itself is killed, the new program goes on if it is ready, and its next start goes back if it is not.
func (Host) Guard(ctx context.Context, dataDir string) error {
	a, err := read(dataDir)
	if err != nil || a == nil || a.State != upgrade.Checking {
		return err
	}
	host, err := running(dataDir)
	if err != nil {
		return err
	}
	if host == nil {
		return restore(dataDir, a, "the host ended before it could be restarted")
	}
	if host.pid == os.Getppid() {
		return restartDetached()
	}
	host.binary = a.Binary // its process has the previous program still, under its other name
	stdout, stderr := host.output(1), host.output(2)
	sockets, err := keep(dataDir)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the listening sockets of the host are not kept, and clients are refused if the upgrade fails: %v\n", err)
	}
	defer sockets.close()
	if err := unix.Kill(host.pid, restartSignal); err != nil {
		return fmt.Errorf("restarting pinion (process %d): %w", host.pid, err)
	}
	ticks := time.NewTicker(poll)
	defer ticks.Stop()
	for deadline := time.Now().Add(a.Timeout); ; {
		if a, err = read(dataDir); err != nil || a == nil || a.State != upgrade.Checking {
			return err
		}
		reason := ""
		switch {
		case time.Now().After(deadline):
			reason = fmt.Sprintf("%s was not ready after %s", a.To.Version, a.Timeout)
		case !host.systemd && !host.alive():
			reason = a.To.Version + " ended before the host was ready"
		}
		if reason != "" {
			if err := rollBack(dataDir, host, reason); err != nil || !host.systemd && host.alive() {
				return err
			}
			if !host.systemd {
				err = host.start(stdout, stderr)
			}
			sockets.awaitFetch(grace)
			return err
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// restartDetached starts the guard anew as a child of nobody: a host that upgrades itself starts another program in its process, which would not know of this child.
func restartDetached() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the guard: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.SysProcAttr = os.Stdout, os.Stderr, "/", &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the guard: %w", err)
	}
	return cmd.Process.Release()
}

// rollBack stops the new program and restores the previous one, unless the new one became ready meanwhile. After that the host has to
// be started, which systemd does where it has started the host.
func rollBack(dataDir string, host *process, reason string) error {
	a, err := read(dataDir)
	if err != nil {
		return err
	}
	if a != nil && a.State == upgrade.Checking && checkDigest(a.Binary, a.From.Digest) != nil {
		if err := checkDigest(a.Binary+oldSuffix, a.From.Digest); err != nil { // what runs is better than nothing
			return end(dataDir, a, upgrade.Abandoned, fmt.Sprintf("%s; %v: %v", reason, errNothingToRestore, err))
		}
	}
	if err := host.kill(); err != nil {
		return err
	}
	now, err := running(dataDir) // systemd may have started it anew
	if err != nil {
		return err
	}
	if now != nil {
		if err := now.kill(); err != nil {
			return err
		}
	}
	if a, err = read(dataDir); err != nil || a == nil || a.State != upgrade.Checking {
		return err
	}
	return restore(dataDir, a, reason)
}
