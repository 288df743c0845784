package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of CPU times in /proc: USER_HZ is 100 on Linux, whatever the kernel's own.
const clockTick = 10 * time.Millisecond

// residentBytes reads a process's resident memory.
func residentBytes(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d shows no VmRSS", pid)
}

// wakeups counts the times that threads of a process gave up their CPU to wait: each is a wake-up later. Threads that have ended do not count.
func wakeups(pid int) (count int64, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return 0, err
	}
	if len(threads) == 0 {
		return 0, fmt.Errorf("process %d does not run", pid)
	}
	for _, thread := range threads {
		raw, err := os.ReadFile(thread)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(line, "voluntary_ctxt_switches:"); ok {
				switches, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
				if err != nil {
					return 0, err
				}
				count += switches
			}
		}
	}
	return count, nil
}

// cpuTime is the time of a process on all cores since it began, in user and system mode.
func cpuTime(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program may hold anything, and ends at the last parenthesis; utime and stime are fields 14 and 15.
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, raw)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick, err
}

// cpuOf is the CPU time that each of some processes uses while something is done.
func cpuOf(do func() error, pids ...int) (used []time.Duration, err error) {
	for _, pid := range pids {
		before, err := cpuTime(pid)
		if err != nil {
			return nil, err
		}
		used = append(used, -before)
	}
	if err := do(); err != nil {
		return nil, err
	}
	for i, pid := range pids {
		after, err := cpuTime(pid)
		if err != nil {
			return nil, err
		}
		used[i] += after
	}
	return used, nil
}

// wireBytes counts the bytes in and out of a network interface, as the network namespace of the process counts it:
// whole frames, with the headers of TCP, IP and Ethernet.
func wireBytes(pid int, name string) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name+":")
		if fields := strings.Fields(rest); ok && len(fields) > 8 {
			received, err := strconv.ParseInt(fields[0], 10, 64)
			if err != nil {
				return 0, err
			}
			sent, err := strconv.ParseInt(fields[8], 10, 64)
			return received + sent, err
		}
	}
	return 0, fmt.Errorf("process %d has no interface %s", pid, name)
}
