package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process identifies a process by its id and its start time, because ids are used again.
type process struct {
	pid     int
	started string // clock ticks since boot
}

// findProcess returns the process with the id; false when it is gone or a zombie. A killed process is a zombie while its other
// threads still end: until the last has, it holds its files and their locks.
func findProcess(pid int) (process, bool) {
	stat, ok := readStat(pid)
	return process{pid: pid, started: stat.started}, ok && (stat.state != "Z" && stat.state != "X" || stat.threads > 1)
}

func (p process) alive() bool {
	now, ok := findProcess(p.pid)
	return ok && now == p
}

// signal sends a signal to the process, if it has not ended.
func (p process) signal(sig unix.Signal) error {
	if !p.alive() {
		return nil
	}
	if err := unix.Kill(p.pid, sig); !errors.Is(err, unix.ESRCH) {
		return err
	}
	return nil // it has ended since
}

// waitExit waits until the process has ended.
func (p process) waitExit(ctx context.Context) error {
	return poll(ctx, fmt.Sprintf("process %d has not ended", p.pid), func() (bool, error) { return !p.alive(), nil })
}

// poll calls ok until it returns true or an error, or the context ends. It waits for events in other processes.
func poll(ctx context.Context, complaint string, ok func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := ok(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", complaint, ctx.Err())
		}
	}
}

func (p process) String() string { return strconv.Itoa(p.pid) + " " + p.started }

func parseProcess(text string) (p process, err error) {
	_, err = fmt.Sscan(text, &p.pid, &p.started)
	return p, err
}

type procStat struct {
	state, started  string
	parent, threads int
}

// readStat reads /proc/PID/stat; the name of the program, which may hold anything, ends at the last parenthesis.
func readStat(pid int) (procStat, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, false
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 20 {
		return procStat{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	threads, _ := strconv.Atoi(fields[17])
	return procStat{state: fields[0], parent: parent, threads: threads, started: fields[19]}, true
}

// processTree returns the processes in the network namespace with all their descendants: a container is in a namespace of
// its own, but its shim is its parent.
func processTree(namespace string) []process {
	var home unix.Stat_t
	if unix.Stat(namespacePath(namespace), &home) != nil {
		return nil
	}
	children := map[int][]int{}
	var next []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		pid, _ := strconv.Atoi(filepath.Base(entry))
		if s, ok := readStat(pid); ok {
			children[s.parent] = append(children[s.parent], pid)
		}
		var here unix.Stat_t
		if unix.Stat(entry+"/ns/net", &here) == nil && here.Ino == home.Ino && here.Dev == home.Dev {
			next = append(next, pid)
		}
	}
	var all []process
	for seen := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		if slices.Contains(seen, next[0]) {
			continue
		}
		seen = append(seen, next[0])
		next = append(next, children[next[0]]...)
		if p, ok := findProcess(next[0]); ok {
			all = append(all, p)
		}
	}
	return all
}
