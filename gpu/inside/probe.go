// Package inside reports what the container that it runs in really sees of the GPUs: its device nodes and whether the kernel
// lets it open them, its environment, and the output of nvidia-smi. It knows nothing of what the container should see.
package inside

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

// Report is what a container sees of the GPUs.
type Report struct {
	Devices []Node   `json:"devices"`        // by number, those of all GPUs after those of single ones
	Env     []string `json:"env"`            // NVIDIA_* and CUDA_* variables as "NAME=value", sorted
	Tool    *Tool    `json:"tool,omitempty"` // nil when the container has no nvidia-smi
}

// Access says what the kernel answers to opening a device node.
type Access string

// The usual answers.
const (
	Opens    Access = "OK"
	NoDriver Access = "ENXIO"  // no driver behind the node: a simulated GPU, or a driver that is gone
	Refused  Access = "EPERM"  // the devices cgroup keeps the container away
	Denied   Access = "EACCES" // the file mode does
)

// Node is one device node.
type Node struct {
	Path   string `json:"path"` // "/dev/nvidia3"
	Major  uint32 `json:"major"`
	Minor  uint32 `json:"minor"`
	Access Access `json:"access"` // one of the above, or another error in words
}

// Tool is what nvidia-smi -L says.
type Tool struct {
	Path  string   `json:"path"`
	Lines []string `json:"lines"`
	Error string   `json:"error,omitempty"` // why there are no lines
}

// toolTimeout is how long nvidia-smi may take; it is slow where the driver has to wake the cards.
const toolTimeout = 30 * time.Second

// Probe looks from where this process is. It fails only when /dev cannot be read; everything else is part of the report.
func Probe() (Report, error) {
	devices, err := nodes("/dev")
	if err != nil {
		return Report{}, err
	}
	return Report{Devices: devices, Env: gpuEnvironment(os.Environ()), Tool: runTool(findTool())}, nil
}

// nodes lists the character devices dev/nvidia* and those one directory further down (nvidia-caps).
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

// probeNode reports false for what is no character device.
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

// gpuNumber is N of nvidiaN; nodes that are not of one GPU come last.
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
