package containerd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/containerd/cgroup"
	"pinion/node/runtime"
)

// clockTick is the unit of /proc/stat, the same on every machine that Linux's ABI knows.
const clockTick = 10 * time.Millisecond

// Meter reads the usage of tasks and containers.
type Meter struct {
	cgroups cgroup.Manager
	pid     func(ctx context.Context, id string) (uint32, error) // of a container's first process
}

// NewMeter returns the meter of the containers of a runtime.
func NewMeter(r *Runtime) Meter {
	return Meter{r.cgroups, func(ctx context.Context, id string) (uint32, error) { return runningPID(r.inNamespace(ctx), r, id) }}
}

// Usage is the CPU time that the containers of a task have taken, and the memory in bytes that they hold; not ok when the task has no cgroup here.
func (m Meter) Usage(taskID string) (cpu time.Duration, memory int64, ok bool) {
	return m.cgroups.Usage(cgroup.TaskPath(taskID))
}

// Container measures a running container. runtime.ErrNotFound when it does not run.
func (m Meter) Container(ctx context.Context, id string) (runtime.Usage, error) {
	pid, err := m.pid(ctx, id)
	if err != nil {
		return runtime.Usage{}, err
	}
	task, _, _ := strings.Cut(id, ".")
	group := filepath.Join(cgroup.TaskPath(task), strings.TrimPrefix(id, task+"."))
	use := runtime.Usage{At: time.Now(), CPUs: goruntime.NumCPU()}
	var known bool
	if use.CPU, use.Memory, known = m.cgroups.Usage(group); !known {
		return use, fmt.Errorf("%w: %s has no cgroup", runtime.ErrNotFound, id)
	}
	processes, err := m.cgroups.Processes(group)
	if err != nil {
		return use, err
	}
	use.Processes = len(processes)
	use.UserCPU, use.KernelCPU = m.cgroups.CPUTimes(group)
	use.PeakMemory = m.cgroups.PeakMemory(group)
	use.OOMKills = m.cgroups.OOMKills(group)
	if read, written, ok := m.cgroups.BlockIO(group); ok {
		use.Disk = &runtime.BlockIO{Read: read, Written: written}
	}
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err == nil {
		use.MemoryMax = int64(machine.Totalram) * int64(machine.Unit)
	}
	if use.MachineCPU, err = machineCPU(); err != nil {
		return use, err
	}
	use.Interfaces, err = interfaces(pid)
	return use, err
}

// machineCPU is the sum of the first line of /proc/stat, without what guests have taken, which is counted twice there.
func machineCPU() (sum time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		if i == 0 || i > 8 {
			continue
		}
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		sum += time.Duration(ticks) * clockTick
	}
	return sum, nil
}

// interfaces are the traffic counters in the network namespace of a process, without its loopback; nil when that is the host's namespace.
func interfaces(pid uint32) (map[string]runtime.Traffic, error) {
	// Of this thread: /proc/self is the first one, which another goroutine may have taken into a namespace of a container.
	own, errOwn := os.Readlink("/proc/thread-self/ns/net")
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if errOwn != nil || err != nil || own == its {
		return nil, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		return nil, err
	}
	return parseInterfaces(text), nil
}

// parseInterfaces reads /proc/net/dev: 8 counters of what was received, and 8 of what was sent.
func parseInterfaces(text []byte) map[string]runtime.Traffic {
	all := map[string]runtime.Traffic{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, counters, is := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(counters)
		if name = strings.TrimSpace(name); !is || len(fields) < 12 || name == "lo" {
			continue
		}
		at := func(i int) uint64 {
			n, _ := strconv.ParseUint(fields[i], 10, 64) // the kernel writes numbers
			return n
		}
		all[name] = runtime.Traffic{
			ReceivedBytes: at(0), ReceivedPackets: at(1), ReceiveErrors: at(2), ReceiveDropped: at(3),
			TransmitBytes: at(8), TransmitPackets: at(9), TransmitErrors: at(10), TransmitDropped: at(11),
		}
	}
	return all
}
