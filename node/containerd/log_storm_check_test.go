package containerd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/raftfsm/spec"
)

// read returns the lines of the log.
func (s *storm) read() (lines []string) {
	s.Helper()
	err := s.host.logs.Read(s.host.ctx(), spec.LogQuery{Task: s.container.Task.ID}, nil, func(l spec.LogLine) error {
		lines = append(lines, l.Text)
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return lines
}

// check holds the log to the order of what was written, without a gap that is not said, up to the end.
func (s *storm) check(lines []string) {
	s.Helper()
	next, said := 0, false
	for _, line := range lines {
		if strings.HasPrefix(line, "pinion: ") {
			said = true
			continue
		}
		number, rest, _ := strings.Cut(line, " ")
		n, err := strconv.Atoi(number)
		if err != nil && said {
			continue // the rest of a line whose beginning was lost
		}
		if err != nil || n < next || n > next && !said {
			s.Fatalf("line %q stands where %d belongs", line, next)
		}
		next, said = n+1, false
		if strings.HasSuffix(rest, "the end") {
			return
		}
	}
	s.Errorf("the log has %d lines and not the end", len(lines))
}

// lost counts the lines that the log reports as missing.
func lost(lines []string) (count, notes int) {
	for _, line := range lines {
		n := 0
		if _, err := fmt.Sscanf(line, "pinion: %d lines were lost", &n); err == nil {
			count, notes = count+n, notes+1
		}
	}
	return count, notes
}

// loggers are the processes that write the container's log: the logger, and the one that takes its place.
func (s *storm) loggers() (pids []int) {
	s.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.Fatal(err)
	}
	for _, path := range processes {
		line, _ := os.ReadFile(path)
		if !strings.HasPrefix(string(line), s.host.tools.Logger+"\x00") || !strings.Contains(string(line), s.container.Task.ID) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// writer is the logger that alone has the log open for writing; 0 when there is none. A standby that its logger has forked and that has
// not begun its program yet has it open too.
func (s *storm) writer(pids []int) (writer int) {
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			to, _ := os.Readlink(file)
			if !strings.HasSuffix(to, ".log") || writer == pid {
				continue
			}
			if writer != 0 {
				return 0
			}
			writer = pid
		}
	}
	return writer
}

// killLogger kills the logger once there is one to take its place.
func (s *storm) killLogger() {
	s.Helper()
	for ctx := s.host.ctx(); ctx.Err() == nil; {
		pids := s.loggers()
		if writer := s.writer(pids); writer != 0 && writer != s.killed && len(pids) == 2 { // one that was killed takes a moment to end
			if err := syscall.Kill(writer, syscall.SIGKILL); err != nil {
				s.Fatal(err)
			}
			s.killed = writer
			return
		}
	}
	s.Fatalf("no logger has one that would take its place: %v", s.loggers())
}

// awaitFull waits until a disk has no room.
func awaitFull(t *testing.T, h *host, disk string) {
	t.Helper()
	for ctx := h.ctx(); ctx.Err() == nil; {
		var stat syscall.Statfs_t
		if err := syscall.Statfs(disk, &stat); err != nil {
			t.Fatal(err)
		}
		if stat.Bavail*uint64(stat.Bsize) < 512<<10 {
			return
		}
	}
	t.Fatal("the disk does not fill up")
}
