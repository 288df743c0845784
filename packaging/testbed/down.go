package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// downTimeout bounds the time of one host to go down by itself.
const downTimeout = time.Minute

// Down removes everything that the testbed made (tasks, containerds, pinions, mounts, files, namespaces) and closes it. The
// error names what a host could not remove by itself, and what was then removed for it. Down may be repeated.
func (b *Testbed) Down(ctx context.Context) error {
	problems := make([]error, len(b.hosts))
	var group sync.WaitGroup
	for i, h := range b.hosts {
		group.Go(func() { problems[i] = h.down(ctx) })
	}
	group.Wait()
	err := errors.Join(append(problems, b.deleteNetwork())...)
	if b.hasLeftovers() {
		return errors.Join(fmt.Errorf("the cluster in %s is not gone; take it down again: %w", b.Dir, err), b.Close())
	}
	return errors.Join(err, os.RemoveAll(b.Dir), b.Close())
}

// hasLeftovers reports whether a host's directory or a namespace is still there. Then testbed.json must stay.
func (b *Testbed) hasLeftovers() bool {
	var paths []string
	for _, h := range b.hosts {
		paths = append(paths, h.Dir, h.Disk.image)
	}
	for _, name := range b.namespaces() {
		paths = append(paths, namespacePath(name))
	}
	return slices.ContainsFunc(paths, func(path string) bool { _, err := os.Lstat(path); return err == nil })
}

// down lets pinion clean up, as it promises to do, and then removes what is left.
func (h *Host) down(ctx context.Context) error {
	if err := h.undoFaults(); err != nil {
		return err
	}
	err := h.purge(ctx)
	left := h.killProcesses(ctx)
	if _, stat := os.Lstat(h.Dir); stat == nil {
		left = errors.Join(left, unmountUnder(h.Dir), os.RemoveAll(h.Dir))
	}
	return errors.Join(err, left, h.Disk.Delete())
}

func (h *Host) purge(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(h.Dir, "pinion.json")); err != nil {
		return nil // it was never started, or is gone already
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.Binary(), "--data-dir", h.Dir, "down", "--purge", "--force")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := h.Run(cmd); err != nil {
		return fmt.Errorf("pinion down --purge on %s: %w: %s", h.Name, err, strings.TrimSpace(out.String()))
	}
	return nil
}

// killProcesses ends what still runs in the host's namespace, with the containers that come from it.
func (h *Host) killProcesses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	groups := map[string]bool{}
	for {
		left := processTree(h.namespace)
		if len(left) == 0 {
			return removeCgroups(groups)
		}
		for _, p := range left {
			for _, group := range taskCgroups(p.pid) {
				groups[group] = true
			}
			if err := p.signal(unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		for _, p := range left {
			if err := p.waitExit(ctx); err != nil {
				return err
			}
		}
	}
}

// taskCgroups are the directories of the cgroups that Pinion made for a container's process.
func taskCgroups(pid int) []string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	var dirs []string
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && strings.HasPrefix(parts[2], "/pinion/") {
			controller := strings.TrimPrefix(parts[1], "name=")
			dirs = append(dirs, filepath.Join("/sys/fs/cgroup", controller, parts[2]))
		}
	}
	return dirs
}

// removeCgroups removes the cgroups of containers that were killed, and of their tasks.
func removeCgroups(groups map[string]bool) error {
	for dir := range groups {
		for ; strings.Contains(dir, "/pinion/"); dir = filepath.Dir(dir) {
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
				break // another container of the task is in it
			}
		}
	}
	return nil
}

// unmountUnder unmounts what is mounted at and below the directory, the deepest first.
func unmountUnder(dir string) error {
	raw, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	var points []string
	for line := range strings.Lines(string(raw)) {
		if point := strings.Fields(line)[1]; point == dir || strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	slices.Sort(points)
	for _, point := range slices.Backward(points) {
		if err := unix.Unmount(point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", point, err)
		}
	}
	return nil
}
