// Package inside reports which GPUs the current container can use: its device nodes and whether the kernel lets it open
// them, its environment, and the output of nvidia-smi. It does not know which GPUs were assigned to the container.
package visible

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Report lists the GPUs that a container sees.
type Report struct {
	Devices []Node   `json:"devices"`        // by number; nodes shared by all GPUs come last
	Env     []string `json:"env"`            // NVIDIA_* and CUDA_* variables as "NAME=value", sorted
	Tool    *Tool    `json:"tool,omitempty"` // nil when the container has no nvidia-smi
}

// Access is the kernel's result of opening a device node.
type Access string

// The common results.
const (
	Opens    Access = "OK"
	NoDriver Access = "ENXIO"  // no driver behind the node: a simulated GPU, or a driver that is gone
	Refused  Access = "EPERM"  // the devices cgroup denies access
	Denied   Access = "EACCES" // the file mode denies access
)

// Node is one device node.
type Node struct {
	Path   string `json:"path"` // "/dev/nvidia3"
	Major  uint32 `json:"major"`
	Minor  uint32 `json:"minor"`
	Access Access `json:"access"` // one of the above, or the text of another error
}

// Tool is the output of nvidia-smi -L.
type Tool struct {
	Path  string   `json:"path"`
	Lines []string `json:"lines"`
	Error string   `json:"error,omitempty"` // why there are no lines
}

// toolTimeout bounds one run of nvidia-smi, which is slow when the driver has to wake the GPUs.
const toolTimeout = 30 * time.Second

// Probe collects the report for the current process. It fails only when /dev cannot be read; every other error is part of
// the report.
func Probe() (Report, error) {
	devices, err := nodes("/dev")
	if err != nil {
		return Report{}, err
	}
	return Report{Devices: devices, Env: gpuEnvironment(os.Environ()), Tool: runTool(findTool())}, nil
}

// nodes lists the character devices dev/nvidia* and those in their subdirectories (nvidia-caps).
func nodes(dev string) ([]Node, error) {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return nil, err
	}
	found := []Node{}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), "nvidia") {
			continue
		}
		paths := []string{filepath.Join(dev, entry.Name())}
		if entry.IsDir() {
			if paths, err = filepath.Glob(filepath.Join(paths[0], "*")); err != nil {
				return nil, err
			}
		}
		for _, path := range paths {
			if node, ok := probeNode(path); ok {
				found = append(found, node)
			}
		}
	}
	slices.SortFunc(found, byNumber)
	return found, nil
}

// probeNode returns false for a file that is not a character device.
func probeNode(path string) (Node, bool) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		return Node{}, false
	}
	number := uint64(stat.Rdev)
	return Node{Path: path, Major: unix.Major(number), Minor: unix.Minor(number), Access: access(path)}, true
}

func access(path string) Access {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case err == nil:
		file.Close()
		return Opens
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return NoDriver
	case errors.Is(err, unix.EPERM):
		return Refused
	case errors.Is(err, unix.EACCES):
		return Denied
	}
	var pathErr *fs.PathError
	errors.As(err, &pathErr)
	return Access(pathErr.Err.Error())
}

func byNumber(a, b Node) int {
	if x, y := gpuNumber(a.Path), gpuNumber(b.Path); x != y {
		return x - y
	}
	return strings.Compare(a.Path, b.Path)
}

// gpuNumber returns N of nvidiaN. Nodes that do not belong to a single GPU sort last.
func gpuNumber(path string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), "nvidia"))
	if err != nil {
		return 1 << 30
	}
	return n
}

func gpuEnvironment(environ []string) []string {
	ours := []string{}
	for _, variable := range environ {
		if strings.HasPrefix(variable, "NVIDIA_") || strings.HasPrefix(variable, "CUDA_") {
			ours = append(ours, variable)
		}
	}
	slices.Sort(ours)
	return ours
}
