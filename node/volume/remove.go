package volume

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"pinion/node/filetree"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

const (
	// removedPrefix begins the name of a removed shared volume until it is gone; Find refuses it.
	removedPrefix = ".removed-"
	// sweepTimeout bounds the time of Sweep for one of them: a task that has all of volumeroot.Local may fill it meanwhile.
	sweepTimeout = time.Minute
)

// isLocal reports whether the volume is in the directory of shared volumes. A file system that is mounted, see At, may have its name.
func (v *Volume) isLocal() bool { return v.roots != nil && v.root.Name == volumeroot.Local }

// keep keeps the shared volumes from being removed until release is called. Other volumes it does not wait for: their file systems may hang.
func (v *Volume) keep() (release func()) {
	if !v.isLocal() {
		return func() {}
	}
	v.roots.shared.use.RLock()
	return v.roots.shared.use.RUnlock
}

// InShared reports whether the volume is the shared one of that name, something in it, or the directory that all shared volumes are in; by a link, too.
func (v *Volume) InShared(name string) bool {
	if !v.isLocal() {
		return false
	}
	if first, _, _ := strings.Cut(v.below, "/"); first == "." || first == name {
		return true
	}
	file, err := v.open()
	if err != nil {
		return false // nobody has it
	}
	defer file.Close()
	path, err := os.Readlink(descriptorPath(file))
	return err == nil && within(path, filepath.Join(v.root.dir, name))
}

// RemoveShared removes a shared volume; Sweep frees the space of what is in it. While user is asked which task has it, empty for none, no task gets it.
// spec.ErrNotFound, spec.ErrInUse; other errors say why it is not this host's to remove.
func (r *Roots) RemoveShared(name string, user func() string) error {
	if !spec.ValidName(name) {
		return fmt.Errorf("%.300q is not the name of a volume", name)
	}
	local, err := r.Find(volumeroot.SharedSource(r.List(), name))
	if err != nil {
		return err
	}
	if !local.isLocal() || local.root.ReadOnly {
		return fmt.Errorf("the operator of this host has named the directory of volume %s (`pinion up --volume %s`): remove what is in it there", name, local.root)
	}
	if err := local.takeAway(name, user); err != nil {
		return fmt.Errorf("volume %s: %w", name, err)
	}
	r.shared.mu.Lock()
	r.shared.names, err = r.findShared()
	if r.shared.changed != nil {
		r.shared.changed()
	}
	r.shared.mu.Unlock()
	select {
	case r.shared.removed <- struct{}{}:
	default: // Sweep has yet to see the one before
	}
	return err
}

// takeAway gives the directory of a shared volume another name, unless a task has it.
func (v *Volume) takeAway(name string, user func() string) error {
	r := v.roots
	r.shared.use.Lock()
	defer r.shared.use.Unlock()
	if task := user(); task != "" {
		return fmt.Errorf("%w: task %s has it: stop the task first", spec.ErrInUse, task)
	}
	path := filepath.Join(v.root.dir, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("%w: this host does not have it", spec.ErrNotFound)
	}
	if err != nil {
		return err
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return !within(m.Mountpoint, path), false })
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return fmt.Errorf("%w: a file system is mounted at %s: unmount it first", spec.ErrInUse, mounts[0].Mountpoint)
	}
	return os.Rename(path, filepath.Join(v.root.dir, removedPrefix+rand.Text()))
}

// Removed says when Sweep has something to do; at the start of a host it may have, too.
func (r *Roots) Removed() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.shared.removed
}

// Sweep frees the space of the shared volumes that were removed. What it cannot free within sweepTimeout is left for the next time.
func (r *Roots) Sweep(ctx context.Context) error {
	if r == nil {
		return nil
	}
	local, err := r.Find(volumeroot.Local)
	if err != nil {
		return err
	}
	dir, err := os.Open(local.root.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxListed)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), removedPrefix) {
			err = errors.Join(err, removeWithin(ctx, sweepTimeout, filepath.Join(local.root.dir, entry.Name())))
		}
	}
	return err
}

// removeWithin is filetree.Remove, as long as timeout at most.
func removeWithin(ctx context.Context, timeout time.Duration, path string) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return filetree.Remove(ctx, path)
}
