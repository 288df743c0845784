package volume

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"

	"pinion/node/filetree"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

// removedPrefix begins the name of what was a shared volume until it is gone; no volume can have such a name.
const removedPrefix = ".removed-"

// InShared reports whether the volume is the shared one of that name, something in it, or the directory that all shared volumes are in.
func (v *Volume) InShared(name string) bool {
	first, _, _ := strings.Cut(v.below, "/")
	return v.root.Name == volumeroot.Local && (first == "." || first == name)
}

// RemoveShared removes a shared volume with all that is in it. While user is asked which task has it, empty for none, no task gets it.
// spec.ErrNotFound, spec.ErrInUse; other errors say why it is not this host's to remove.
func (r *Roots) RemoveShared(name string, user func() string) error {
	if !spec.ValidName(name) {
		return fmt.Errorf("%.300q is not the name of a volume", name)
	}
	local, err := r.Find(volumeroot.SharedSource(r.List(), name))
	if err != nil {
		return err
	}
	if local.root.Name != volumeroot.Local || local.root.ReadOnly {
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
	return errors.Join(err, r.Sweep())
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

// Sweep removes what is left of shared volumes whose removal was cut short.
func (r *Roots) Sweep() error {
	if r == nil {
		return nil
	}
	r.shared.sweep.Lock()
	defer r.shared.sweep.Unlock()
	local, err := r.Find(volumeroot.Local)
	if err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(local.root.dir, removedPrefix+"*"))
	for _, path := range left {
		err = errors.Join(err, filetree.Remove(path))
	}
	return err
}
