package volume

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/volumeroot"
)

// maxListed bounds how much is read of the directory of local volumes: a task that has all of it may fill it.
const maxListed = 16 * volumeroot.MaxShared

// shared are the names of the shared volumes of a host, in order. They are remembered, and not read again: the pool is told of them whenever
// the host joins, which does not wait for a file system.
type shared struct {
	mu      sync.Mutex
	names   []string
	changed func() // nil: nobody wants to know

	use     sync.RWMutex  // is held for reading while a task gets something of volumeroot.Local, for writing while a volume is taken away
	removed chan struct{} // has room for one
}

// Shared lists the shared volumes that the host has below volumeroot.Local, volumeroot.MaxShared of them at most.
func (r *Roots) Shared() []string {
	if r == nil {
		return nil
	}
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	return slices.Clone(r.shared.names)
}

// OnShared has f called whenever the host has one more; f must not wait.
func (r *Roots) OnShared(f func()) {
	if r == nil {
		return
	}
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	r.shared.changed = f
}

// FindShared finds the shared volume of a task definition. makes says that it is made when the host does not have it.
func (r *Roots) FindShared(name string, makes bool) (*Volume, error) {
	if !spec.ValidName(name) {
		return nil, fmt.Errorf("%.300q is not the name of a volume", name)
	}
	if r == nil {
		return r.Find(name)
	}
	v, err := r.Find(volumeroot.SharedSource(r.List(), name))
	if err != nil {
		return nil, err
	}
	if makes {
		return v, v.Make()
	}
	file, err := v.Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("this host does not have the shared volume, and autoprovision is not true: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return v, file.Close()
}

// recordShared remembers a volume that is there as a shared one.
func (v *Volume) recordShared() {
	if !v.isLocal() || !spec.ValidName(v.below) {
		return
	}
	s := &v.roots.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := slices.BinarySearch(s.names, v.below)
	if known || len(s.names) >= volumeroot.MaxShared {
		return
	}
	s.names = slices.Insert(s.names, at, v.below)
	if s.changed != nil {
		s.changed()
	}
}

// listShared reads which shared volumes there are.
func (r *Roots) listShared() (err error) {
	r.shared.names, err = r.findShared()
	return err
}

// findShared reads the names of the shared volumes that there are, in order.
func (r *Roots) findShared() (names []string, err error) {
	local, err := r.Find(volumeroot.Local)
	if err != nil {
		return nil, err
	}
	dir, err := os.Open(local.root.dir)
	if err != nil {
		return nil, fmt.Errorf("directory for volumes: %w", err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("directory for volumes: %w", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		if entry.IsDir() && spec.ValidName(entry.Name()) && len(names) < volumeroot.MaxShared {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}
