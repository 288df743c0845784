// Package filesystem mounts the network file systems of this host for its tasks: those that `pinion up --file-system` names. Each is mounted once,
// for as long as tasks use it. What is mounted is read from the kernel, not remembered, so a restart finds it again.
package filesystem

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/moby/sys/mountinfo"

	"pinion/raftfsm/filesystem"
)

// Config has the options of Mounts. Mount, Unmount and Timeout are needed only in tests.
type Config struct {
	Host        string // name of this host, for errors
	FileSystems []filesystem.FileSystem
	Dir         string        // of the mount points; nobody but root may get in
	Mount       string        // path of mount(8); empty: the system's
	Unmount     string        // path of umount(8); empty: the system's
	Timeout     time.Duration // of a mount; 0: mountTimeout
	Log         *slog.Logger
}

// Mounts are the network file systems of this host.
type Mounts struct {
	config Config
	all    map[string]*mount // by name
}

// Open finds the file systems that an earlier process has left mounted. Those no longer configured are unmounted beside the start of the host: a
// server that hangs does not hold it up. The configured ones stay until UnmountUnused.
func Open(c Config) (*Mounts, error) {
	m := &Mounts{config: c, all: map[string]*mount{}}
	m.config.Timeout = cmp.Or(c.Timeout, mountTimeout)
	if len(c.FileSystems) > 0 {
		var err error
		if m.config.Mount, err = program(c.Mount, "mount"); err != nil {
			return nil, fmt.Errorf("--file-system: %w", err)
		}
	}
	if _, err := os.Stat(c.Dir); errors.Is(err, os.ErrNotExist) && len(c.FileSystems) == 0 {
		return m, nil
	}
	if err := errors.Join(os.MkdirAll(c.Dir, 0o700), os.Chmod(c.Dir, 0o700)); err != nil {
		return nil, fmt.Errorf("directory for file systems: %w", err)
	}
	var err error
	if m.config.Dir, err = filepath.EvalSymlinks(c.Dir); err != nil { // the kernel lists mounts by their real paths
		return nil, fmt.Errorf("directory for file systems: %w", err)
	}
	if m.config.Unmount, err = program(c.Unmount, "umount"); err != nil {
		return nil, fmt.Errorf("--file-system: %w", err)
	}
	for _, f := range c.FileSystems {
		m.all[f.Name] = m.mount(f, filepath.Join(m.config.Dir, pointName(f)))
	}
	return m, m.sweep()
}

// pointName is the name of a mount point. A file system whose options have changed has another one, so it is never taken for the earlier one.
func pointName(f filesystem.FileSystem) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", f))
	return f.Name + "-" + hex.EncodeToString(sum[:6])
}

func (m *Mounts) mount(f filesystem.FileSystem, point string) *mount {
	return &mount{FileSystem: f, config: &m.config, point: point, busy: make(chan struct{}, 1), users: map[string]bool{}}
}

// sweep unmounts all mounts in the directory that are no configured file systems.
func (m *Mounts) sweep() error {
	found, err := mountinfo.GetMounts(func(i *mountinfo.Info) (skip, stop bool) { return filepath.Dir(i.Mountpoint) != m.config.Dir, false })
	if err != nil {
		return fmt.Errorf("which file systems are mounted: %w", err)
	}
	known := map[string]bool{}
	for _, mount := range m.all {
		known[mount.point] = true
	}
	for _, i := range found {
		if !known[i.Mountpoint] {
			known[i.Mountpoint] = true
			go m.mount(filesystem.FileSystem{Name: filepath.Base(i.Mountpoint)}, i.Mountpoint).unmountUnused(context.Background())
		}
	}
	return nil
}

// Offers are the file systems as the host reports them to its pool.
func (m *Mounts) Offers() (all []filesystem.Offer) {
	for _, f := range m.config.FileSystems {
		all = append(all, f.Offer())
	}
	return all
}

// UnmountUnused unmounts the file systems that no task uses. It is called when all tasks of this host have their hooks, those of an earlier process
// too. It waits for unmountTimeout at most.
func (m *Mounts) UnmountUnused(ctx context.Context) {
	var all sync.WaitGroup
	for _, mount := range m.all {
		all.Go(func() { mount.unmountUnused(ctx) })
	}
	all.Wait()
}

// UnmountAll unmounts whatever is mounted in the directory of an earlier process, for `pinion down`.
func UnmountAll(ctx context.Context, dir string, log *slog.Logger) error {
	m, err := Open(Config{Dir: dir, Log: log})
	if err != nil {
		return err
	}
	points, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var all sync.WaitGroup
	for _, p := range points {
		all.Go(func() {
			m.mount(filesystem.FileSystem{Name: p.Name()}, filepath.Join(m.config.Dir, p.Name())).unmountUnused(ctx)
		})
	}
	all.Wait()
	return nil
}
