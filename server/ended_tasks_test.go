package server

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
	"pinion/server/backup"
	"pinion/server/history"
	"pinion/server/recovery"
)

// endTask lets a task begin and end.
func endTask(t testing.TB, s *Server, id string, at time.Time) {
	t.Helper()
	task := &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: "past:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running,
		CreatedAt: at.Add(-time.Minute), Containers: []spec.Container{{ID: id, Name: "main"}}}
	apply(t, s, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
	apply(t, s, raftfsm.StopTask{ID: id, At: at, Code: spec.StopUserInitiated, Reason: "enough"})
}

func registerPast(t testing.TB, s *Server) {
	t.Helper()
	apply(t, s, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "past", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "main"}}}})
}

func taskNumber(n int) string { return fmt.Sprintf("%032x", n) }

// forgetTasks ends tasks 1 to n two hours ago, waits until the history of this server and of the others has them, and has the state forget
// them. It returns when they ended.
func forgetTasks(t *testing.T, s *Server, n int, others ...*Server) (at time.Time) {
	t.Helper()
	registerPast(t, s)
	at = time.Now().Add(-2 * time.Hour)
	for i := range n {
		endTask(t, s, taskNumber(i+1), at)
	}
	for _, keeper := range append(others, s) {
		waitKept(t, keeper, n)
	}
	apply(t, s, raftfsm.Reap{Before: at.Add(time.Second)})
	return at
}

// waitKept waits until the history has so many tasks and is whole.
func waitKept(t *testing.T, s *Server, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("the history has %d tasks and no gap", n), func() bool {
		page, err := s.history.Find(ended.Query{Limit: ended.MaxPage})
		return err == nil && len(page.Tasks) == n && len(page.Gaps) == 0
	})
}

// What has ended is kept when the state forgets it, over restarts from the log and from a snapshot, and nothing is called a gap that is none.
func TestTheHistoryKeepsWhatTheStateForgets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	cfg := config(dir)
	cfg.HistoryFile = filepath.Join(filepath.Dir(dir), history.File)
	s := start(t, cfg)
	at := forgetTasks(t, s, 1)
	if view(t, s).Task(taskNumber(1)) != nil {
		t.Fatal("the state has not forgotten the task")
	}
	stop(t, s)

	again := start(t, cfg) // from the log
	waitKept(t, again, 1)
	endTask(t, again, taskNumber(2), at.Add(time.Minute))
	waitKept(t, again, 2)
	apply(t, again, raftfsm.Reap{Before: at.Add(time.Hour)})
	if err := again.node.Raft().Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	stop(t, again)

	last := start(t, cfg) // from the snapshot
	waitKept(t, last, 2)
	found, err := last.history.Task(taskNumber(2))
	if err != nil || found == nil || found.Outcome != ended.Stopped || found.Task.StoppedReason != "enough" {
		t.Errorf("%+v, %v", found, err)
	}
	stop(t, last)

	if err := os.Remove(cfg.HistoryFile); err != nil {
		t.Fatal(err)
	}
	lost := start(t, cfg)
	eventually(t, "a lost history says what it lacks", func() bool {
		page, err := lost.history.Find(ended.Query{})
		return err == nil && len(page.Tasks) == 0 && len(page.Gaps) == 1 && page.Gaps[0].From.IsZero()
	})
	endTask(t, lost, taskNumber(3), time.Now())
	eventually(t, "it goes on all the same", func() bool {
		found, err := lost.history.Task(taskNumber(3))
		return err == nil && found != nil
	})
}

// A file that is no database is set aside and neither stops the pool nor the history.
func TestADamagedHistoryStopsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	cfg := config(dir)
	cfg.HistoryFile = filepath.Join(filepath.Dir(dir), history.File)
	if err := os.WriteFile(cfg.HistoryFile, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, cfg)
	registerPast(t, s)
	endTask(t, s, taskNumber(1), time.Now())
	waitKept(t, s, 1)
	waitSetAside(t, cfg.HistoryFile)
}

// waitSetAside waits until what is readable of a damaged history was taken over.
func waitSetAside(t *testing.T, file string) {
	t.Helper()
	eventually(t, "the damaged file is set aside, and done with", func() bool {
		_, missing := os.Stat(file + ".salvaged")
		_, pending := os.Stat(file + ".damaged")
		return missing == nil && pending != nil
	})
}

// Of a file that is damaged while nothing else knows its tasks, what is readable is kept, and it is said that something may be missing.
func TestWhatIsReadableOfADamagedHistoryIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "raft")
	cfg := config(dir)
	cfg.HistoryFile = filepath.Join(filepath.Dir(dir), history.File)
	s := start(t, cfg)
	const tasks = 3
	forgetTasks(t, s, tasks)
	if err := s.node.Raft().Snapshot().Error(); err != nil { // its log does not tell them again
		t.Fatal(err)
	}
	stop(t, s)
	file, err := os.ReadFile(cfg.HistoryFile)
	if err != nil {
		t.Fatal(err)
	}
	for page := range 2 { // the two records of where everything begins
		clear(file[page*os.Getpagesize():][:128])
	}
	if err := os.WriteFile(cfg.HistoryFile, file, 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, cfg)
	waitSetAside(t, cfg.HistoryFile)
	page, err := again.history.Find(ended.Query{})
	if err != nil || len(page.Tasks) != tasks || len(page.Gaps) != 1 {
		t.Errorf("%d tasks, %v, %v", len(page.Tasks), page.Gaps, err)
	}
}

// A server that lost its history, or never had one, gets it from the others.
func TestALostHistoryComesFromAnotherServer(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	hosts, leader := p.hosts, p.leader()
	own := leader.member.localServer()
	const tasks = 5
	var servers []*Server
	for _, h := range hosts {
		servers = append(servers, h.member.localServer())
	}
	forgetTasks(t, own, tasks, servers...)
	follower := p.followers()[0]
	behind := follower.member.localServer()
	eventually(t, "it has forgotten the tasks too", func() bool { return behind.state.View().Reaped() > 0 })
	if err := behind.node.Raft().Snapshot().Error(); err != nil { // its log does not tell them again
		t.Fatal(err)
	}
	follower.close()
	if err := os.Remove(filepath.Join(follower.dir, history.File)); err != nil {
		t.Fatal(err)
	}
	if err := follower.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is a server again", func() bool { return follower.member.localServer() != nil })
	waitKept(t, follower.member.localServer(), tasks)
}

// A pool that was recovered goes on with the history of the server that recovered it, without a gap.
func TestARecoveredPoolKeepsItsHistory(t *testing.T) {
	p := newPool(t)
	h := p.found(nil)
	own := h.member.localServer()
	at := forgetTasks(t, own, 1)
	h.close()
	if _, err := recovery.RecoverPool(t.Context(), offline(h)); err != nil {
		t.Fatal(err)
	}
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
	own = h.member.localServer()
	endTask(t, own, taskNumber(2), at)
	waitKept(t, own, 2)
}

// A pool that is restored on another machine has its past: what the state had forgotten, and what had just ended.
func TestARestoredPoolHasItsPast(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	own := first.member.localServer()
	const tasks = 5
	forgetTasks(t, own, tasks)
	endTask(t, own, taskNumber(tasks+1), time.Now()) // the history may not have it yet
	var file bytes.Buffer
	if err := first.member.Snapshots.SaveSnapshot(t.Context(), &file, true); err != nil {
		t.Fatal(err)
	}
	first.close()
	info, err := backup.Inspect(bytes.NewReader(file.Bytes()), history.CountTasks)
	if err != nil || info.EndedTasks == nil || *info.EndedTasks < tasks {
		t.Fatalf("%+v, %v", info, err)
	}
	second := p.host(nil)
	prepareRestore(t, second, first.where)
	copyKeyring(t, first, second)
	if _, err := recovery.RestorePool(t.Context(), offline(second), &file); err != nil {
		t.Fatal(err)
	}
	if err := second.start(); err != nil {
		t.Fatal(err)
	}
	waitKept(t, second.member.localServer(), tasks+1)
}
