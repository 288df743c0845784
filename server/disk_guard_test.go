package server

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// smallDisk mounts a file system of its own that a test can fill up.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("pinion-test", dir, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("needs to mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes every byte that is left and returns what gives them back.
func fill(t *testing.T, disk string) (free func()) {
	t.Helper()
	path := filepath.Join(disk, "filler")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.Copy(file, zeroReader{}); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk does not fill up: %v", err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// eventually waits for something that another goroutine brings about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // reached only on a failure
	defer cancel()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("did not happen: %s", what)
		}
	}
}

func create(s *Server, name string) error {
	_, err := s.Propose(context.Background(), raftfsm.CreateCluster{Cluster: spec.Cluster{Name: name}})
	return err
}

func TestAFullDiskMakesTheServerReadOnlyUntilThereIsRoom(t *testing.T) {
	disk := smallDisk(t)
	cfg := config(filepath.Join(disk, "raft"))
	cfg.MinFree = 1 << 20
	s := start(t, cfg)
	joinWith(t, s, 1)
	definition := define(t, s, 1)
	task := run(t.Context(), t, s, runOf(definition)).Tasks[0]

	empty := fill(t, disk)
	err := create(s, "refused")
	if !errors.Is(err, spec.ErrReadOnly) || !errors.Is(err, spec.ErrUnavailable) || !strings.Contains(err.Error(), cfg.Dir) {
		t.Errorf("a change on a full disk: %v", err)
	}
	t.Log(err)
	if _, err := s.scheduler.Run(t.Context(), runOf(definition)); !errors.Is(err, spec.ErrReadOnly) {
		t.Errorf("a run on a full disk: %v", err)
	}
	if view(t, s).Task(task.ID) == nil {
		t.Error("reads do not go on")
	}
	// What makes room is still recorded, in the blocks that were set aside.
	apply(t, s, raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated})
	report(t, s, spec.TaskReport{TaskID: task.ID, Status: spec.Stopped})

	empty()
	if err := create(s, "accepted"); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	if v := view(t, s); v.Cluster("refused") != nil || v.Cluster("accepted") == nil || v.Task(task.ID).LastStatus != spec.Stopped {
		t.Error("the state is not what was acknowledged")
	}
}

func TestARecordThatDoesNotFitCostsTheLeadershipForAMoment(t *testing.T) {
	disk := smallDisk(t)
	cfg := config(filepath.Join(disk, "raft"))
	cfg.Reserve = 1 // nothing set aside
	s := start(t, cfg)
	joinWith(t, s, 1)
	first := s.node.Raft().CurrentTerm()

	empty := fill(t, disk)
	huge := raftfsm.ReportTasks{HostID: hostID, Reports: []spec.TaskReport{{TaskID: "x", StoppedReason: strings.Repeat("x", 1<<20)}}}
	if _, err := s.Propose(t.Context(), huge); !errors.Is(err, spec.ErrReadOnly) {
		t.Errorf("a record that does not fit: %v", err)
	}
	if view(t, s).Host(hostID) == nil {
		t.Error("reads do not go on")
	}
	if err := create(s, "refused"); !errors.Is(err, spec.ErrReadOnly) {
		t.Errorf("a change on a full disk: %v", err)
	}
	empty()
	eventually(t, "the server leads a new term", func() bool { return s.Leads() && s.node.Raft().CurrentTerm() != first })
	if err := create(s, "accepted"); err != nil {
		t.Error(err)
	}
	select {
	case err := <-s.Fatal():
		t.Errorf("the server gave up: %v", err)
	default:
	}
}

func TestAServerStartsAndStopsOnAFullDisk(t *testing.T) {
	disk := smallDisk(t)
	cfg := config(filepath.Join(disk, "raft"))
	s := start(t, cfg)
	joinWith(t, s, 1)
	stop(t, s)

	empty := fill(t, disk)
	again := start(t, cfg)
	if view(t, again).Host(hostID) == nil {
		t.Error("the host is gone")
	}
	if err := create(again, "refused"); !errors.Is(err, spec.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
	joinWith(t, again, 2) // or the host would never hear which tasks to stop
	stop(t, again)
	empty()
}

func TestANewPoolIsNotMadeOnAFullDisk(t *testing.T) {
	disk := smallDisk(t)
	cfg := config(filepath.Join(disk, "raft"))
	cfg.MinFree = 1 << 30
	if _, err := Open(t.Context(), cfg); !errors.Is(err, spec.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
	cfg.MinFree = 1
	if view(t, start(t, cfg)).Pool() == nil {
		t.Error("with room the pool is not made")
	}
}
