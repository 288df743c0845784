package doctor

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pinion/api/client"
	"pinion/node/containerd/cgroup"
)

// Machine is the machine as the checks see it; tests stand in for what a machine may lack.
type Machine struct {
	Root string // of the files that are looked at: "/"

	User              func() int
	Release           func() (string, error)                     // of the kernel
	Cgroups           func() (cgroup.Manager, error)             // as the runtime detects them
	Overlay           func(dir string, userNamespace bool) error // mounts an overlay below dir, with the ids of a user namespace or without
	Openat2           func() error
	RecursiveReadOnly func() error
	ShortUlimits      func() []string // that this process cannot raise as far as GPU jobs ask
	Program           func(names ...string) error
	Persistence       func(ctx context.Context) (string, error) // of each GPU, one a line: Enabled or Disabled

	Disk func(path string) (Disk, error)
	Sync func(dir string) (time.Duration, error) // of a small write

	ClockSynced func() (bool, error)
	Now         func() time.Time
	Bind        func(address string) error
	Hosts       func(ctx context.Context) ([]client.Host, error)             // of the pool, from the pinion that runs here
	Date        func(ctx context.Context, address string) (time.Time, error) // at another host
	Containerd  func(ctx context.Context, address string) (string, error)    // its version
	Registries  func(ctx context.Context, config string) ([]Registry, error) // that pulls go to
	Ask         func(ctx context.Context, c *http.Client, url string) error  // whether anything answers there
}

// Disk is the file system at a path.
type Disk struct {
	Size, Free   int64  // bytes
	Files, Spare uint64 // inodes, and those that are free; 0 files: it has no limit
	Type         int64  // magic number
}

// Registry is one address that images are pulled from.
type Registry struct {
	Name   string // whose images it has
	URL    string
	Client *http.Client
}

// read is the text of a file of the machine; empty when it cannot be read.
func (m *Machine) read(path string) string {
	text, _ := os.ReadFile(filepath.Join(m.Root, path))
	return strings.TrimSpace(string(text))
}

func (m *Machine) exists(path string) bool {
	_, err := os.Stat(filepath.Join(m.Root, path))
	return err == nil
}

func (m *Machine) glob(pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(m.Root, pattern))
	return found
}

// hasProcess reports whether a process with this name runs. The kernel keeps 15 characters of it.
func (m *Machine) hasProcess(name string) bool {
	for _, path := range m.glob("proc/[0-9]*/comm") {
		if text, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(text)) == name[:min(15, len(name))] {
			return true
		}
	}
	return false
}
