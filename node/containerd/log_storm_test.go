package containerd_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/logs"
	"pinion/node/runtime"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
)

var (
	stormTime    = flag.Duration("storm", 500*time.Millisecond, "how long a container logs as fast as it can")
	stormTargets = flag.Bool("storm-targets", false, "a write that takes longer than 100 ms at the 99th percentile is a failure")
)

// stormRate is the rate at which the container writes, in MB/s.
const stormRate = 200

// A container that logs as fast as it can goes on whatever becomes of its log: on a disk with room, on a full one, and when its logger is
// killed. What is missing in the log is said there.
func TestALogStormStallsNoTask(t *testing.T) {
	t.Run("a disk with room", func(t *testing.T) {
		s := newStorm(t, t.TempDir())
		s.finish()
		s.check(s.read())
	})
	t.Run("a full disk", func(t *testing.T) {
		disk := smallDisk(t, "2m")
		s := newStorm(t, disk)
		awaitFull(t, s.host, disk)
		written := s.calm()
		if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_REMOUNT, "size=64m"); err != nil {
			t.Fatal(err)
		}
		s.finish()
		lines := s.read()
		s.check(lines)
		if said, notes := lost(lines); len(lines)-notes+said != written+1 || said == 0 {
			t.Errorf("%d lines are there and %d said to be lost, of %d", len(lines)-notes, said, written+1)
		}
	})
	t.Run("loggers that are killed", func(t *testing.T) {
		s := newStorm(t, t.TempDir())
		for range 3 {
			s.killLogger()
		}
		s.finish()
		lines := s.read()
		s.check(lines)
		if killed := strings.Count(strings.Join(lines, "\n"), "pinion: the logger"); killed != 3 {
			t.Errorf("the log tells of %d loggers that were killed, of 3", killed)
		}
	})
}

// storm is a container that logs.
type storm struct {
	*testing.T
	host      *host
	dir       string // what it shares with the container
	container runtime.ContainerSpec
	killed    int // the logger that was killed last
}

func newStorm(t *testing.T, logDir string) *storm {
	dir := t.TempDir()
	containerdtest.Build(t, filepath.Join(dir, "writer"), "pinion/node/containerd/containerdtest/writer")
	h := newHost(t, func(c *containerd.Config) { c.Logs = logs.NewStore(logDir).Path }).withBusybox()
	h.logs = logs.NewStore(logDir)
	s := &storm{T: t, host: h, dir: dir}
	s.container = h.start(func(c *runtime.ContainerSpec) {
		c.Def.Command = []string{"/shared/writer", "/shared/result", strconv.Itoa(stormRate), stormTime.String(), "/shared/go-on"}
		c.Def.MountPoints = []spec.MountPoint{{SourceVolume: "shared", ContainerPath: "/shared"}}
		c.Volumes = map[string]runtime.Volume{"shared": {Path: dir}}
		c.Def.LogConfiguration = &logdriver.Configuration{LogDriver: "json-file", Options: map[string]string{"max-size": "1g"}}
	})
	return s
}

// noticed is the container's own report of its writes.
type noticed struct {
	Lines         int
	MBps          float64
	P50, P99, Max time.Duration // of single writes
}

// calm waits until the container has written as much as it was told, and returns how many lines these were.
func (s *storm) calm() int {
	s.Helper()
	for ctx := s.host.ctx(); ctx.Err() == nil; {
		var r noticed
		if text, err := os.ReadFile(filepath.Join(s.dir, "result")); err == nil && json.Unmarshal(text, &r) == nil {
			return r.Lines
		}
	}
	s.Fatal("the container does not come to an end: its log holds it up")
	return 0
}

// finish lets the container write its last line.
func (s *storm) finish() {
	s.Helper()
	s.calm()
	if err := os.WriteFile(filepath.Join(s.dir, "go-on"), nil, 0o644); err != nil {
		s.Fatal(err)
	}
	if exit := s.host.wait(s.container); exit.Code != 0 {
		s.Fatalf("the container ended with %+v", exit)
	}
	for ctx := s.host.ctx(); len(s.loggers()) > 0; { // one that took over ends by itself
		if ctx.Err() != nil {
			s.Fatal("loggers are left")
		}
	}
	var r noticed
	text, err := os.ReadFile(filepath.Join(s.dir, "result"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Logf("%d lines, %.0f MB/s, writes took %v (p50), %v (p99), %v (max)", r.Lines, r.MBps, r.P50, r.P99, r.Max)
	if *stormTargets && r.P99 > 100*time.Millisecond {
		s.Errorf("the 99th percentile of its writes is %v", r.P99)
	}
}
