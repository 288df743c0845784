package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pinion/gpu"
)

// The kernel reserves these character majors for local and experimental use. No driver is registered there, so opening a
// simulated device returns ENXIO, while the devices cgroup tells the devices apart as it does with real ones.
const (
	firstMajor = 240
	lastMajor  = 254
)

// Minors of the nodes that all GPUs share, above the minors of the GPUs.
const (
	minorUVM = 253
	minorCtl = 255
)

// node is one device node of the simulator on the host.
type node struct {
	name  string // "nvidia3", under /dev in a container
	path  string // on the host
	major int
	minor int
}

// firstCapability is the minor of the first node of a MIG device, which the driver calls a capability.
const firstCapability = 1000

// capability is the minor of the node of a MIG device.
func capability(card, start int) int { return firstCapability + card*8 + start }

// nodeName is the name under /dev of the node with a minor.
func nodeName(minor int) string {
	if minor >= firstCapability {
		return "nvidia-caps/nvidia-cap" + strconv.Itoa(minor)
	}
	return "nvidia" + strconv.Itoa(minor)
}

// machineNodes are the nodes of a machine: devices has one for each device, in their order, shared those that all containers with one get, and cards
// those of partitioned GPUs, which no container gets.
type machineNodes struct{ devices, shared, cards []node }

func (n machineNodes) all() []node { return slices.Concat(n.devices, n.shared, n.cards) }

func deviceNodes(dir string, major int, cards, devices []gpu.Device) (n machineNodes) {
	named := func(name string, minor int) node {
		return node{name: name, path: filepath.Join(dir, filepath.Base(name)), major: major, minor: minor}
	}
	for _, d := range devices {
		n.devices = append(n.devices, named(nodeName(d.Minor), d.Minor))
	}
	for _, card := range cards {
		if !slices.ContainsFunc(devices, func(d gpu.Device) bool { return d.UUID == card.UUID }) {
			n.cards = append(n.cards, named(nodeName(card.Minor), card.Minor))
		}
	}
	n.shared = []node{named("nvidiactl", minorCtl), named("nvidia-uvm", minorUVM)}
	return n
}

// makeNodes makes dir hold exactly these nodes. It keeps correct nodes, so it is safe to repeat at any time.
func makeNodes(dir string, nodes []node) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("device nodes of the simulated GPUs: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("device nodes of the simulated GPUs: %w", err)
	}
	for _, entry := range entries {
		if !slices.ContainsFunc(nodes, func(n node) bool { return filepath.Base(n.path) == entry.Name() }) {
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("device nodes of the simulated GPUs: %w", err)
			}
		}
	}
	for _, n := range nodes {
		if err := n.make(); err != nil {
			return err
		}
	}
	return nil
}

func (n node) make() error {
	if rdev, err := deviceNumber(n.path); err == nil && rdev == n.number() {
		return nil
	}
	if err := os.RemoveAll(n.path); err != nil {
		return fmt.Errorf("device node of a simulated GPU: %w", err)
	}
	err := unix.Mknod(n.path, unix.S_IFCHR|0o666, int(n.number()))
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("device node %s of a simulated GPU: %w; it takes root, and a machine that lets root make device nodes", n.path, err)
	}
	if err != nil {
		return fmt.Errorf("device node %s of a simulated GPU: %w", n.path, err)
	}
	return os.Chmod(n.path, 0o666) // regardless of the umask
}

func (n node) number() uint64 { return unix.Mkdev(uint32(n.major), uint32(n.minor)) }

// deviceNumber returns the character device number of a path.
func deviceNumber(path string) (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return 0, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, fmt.Errorf("%s is not a character device", path)
	}
	return uint64(stat.Rdev), nil
}

// freeMajor returns the major of the existing nodes if it is still free, otherwise the first one that no driver of this
// kernel has registered. claimed is the content of /proc/devices.
func freeMajor(dir, claimed string) (int, error) {
	taken := characterMajors(claimed)
	if rdev, err := deviceNumber(filepath.Join(dir, "nvidiactl")); err == nil {
		if major := int(unix.Major(rdev)); major >= firstMajor && major <= lastMajor && !taken[major] {
			return major, nil
		}
	}
	for major := firstMajor; major <= lastMajor; major++ {
		if !taken[major] {
			return major, nil
		}
	}
	return 0, fmt.Errorf("no device number is left for simulated GPUs: drivers of this machine have taken the character majors %d to %d (see /proc/devices)", firstMajor, lastMajor)
}

func characterMajors(devices string) map[int]bool {
	taken := map[int]bool{}
	for lines := bufio.NewScanner(strings.NewReader(devices)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Block devices") {
			break
		}
		number, _, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if major, err := strconv.Atoi(number); err == nil {
			taken[major] = true
		}
	}
	return taken
}
