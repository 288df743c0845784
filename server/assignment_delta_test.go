package server

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// A host that takes every step holds what the pool wants, whatever it held before.
func TestStepsLeadFromAnyListToAnyOther(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lists := rapid.SliceOfN(rapid.MapOf(rapid.IntRange(0, 9), rapid.Bool()), 1, 6).Draw(r, "what the pool wants, in order")
		holds, here := knownAssignments{}, []spec.Assignment(nil)
		for i, wanted := range lists {
			list := assignmentsOf(wanted)
			step := holds.diff(list, uint64(i+1))
			for _, told := range step.Tasks {
				if status, known := holds[told.Task.ID]; known && status == told.Task.DesiredStatus {
					r.Fatalf("task %s was told again", told.Task.ID)
				}
			}
			var err error
			if here, err = step.apply(here); err != nil {
				r.Fatal(err)
			}
			if got := byTask(here); !reflect.DeepEqual(got, byTask(list)) {
				r.Fatalf("the host holds %v, not %v", got, byTask(list))
			}
			holds = knownFrom(here)
		}
	})
}

func TestAHostThatDoesNotSayWhatItHoldsGetsEverything(t *testing.T) {
	list := assignmentsOf(map[int]bool{1: true, 2: false})
	step := knownAssignments(nil).diff(list, 7)
	got, err := step.apply(assignmentsOf(map[int]bool{3: true}))
	if err != nil || step.Incremental || !reflect.DeepEqual(got, list) {
		t.Errorf("%v %v", got, err)
	}
}

func TestAStepOfAnotherHostIsNotTaken(t *testing.T) {
	before := assignmentsOf(map[int]bool{1: true})
	step := knownFrom(before).diff(assignmentsOf(map[int]bool{1: false}), 7)
	if _, err := step.apply(nil); err == nil {
		t.Error("a task without a definition was taken")
	}
}

// assignmentsOf makes a list of numbered tasks; true are those that shall run.
func assignmentsOf(wanted map[int]bool) []spec.Assignment {
	list := []spec.Assignment{}
	for n, run := range wanted {
		task := &spec.Task{ID: fmt.Sprint("task-", n), DesiredStatus: spec.Stopped}
		if run {
			task.DesiredStatus = spec.Running
		}
		list = append(list, spec.Assignment{Task: task, Definition: &spec.TaskDefinition{Family: task.ID}})
	}
	return list
}

func byTask(list []spec.Assignment) []spec.Assignment {
	return slices.SortedFunc(slices.Values(list), func(a, b spec.Assignment) int { return strings.Compare(a.Task.ID, b.Task.ID) })
}

// countingListener counts what goes over the connections that a listener accepts, both ways.
type countingListener struct {
	net.Listener
	bytes atomic.Int64
}

type countingConn struct {
	net.Conn
	wire *countingListener
}

func (w *countingListener) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{c, w}, nil
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wire.bytes.Add(int64(n))
	return n, err
}

// Write counts first: the other end may have it all before Write returns.
func (c *countingConn) Write(b []byte) (int, error) {
	c.wire.bytes.Add(int64(len(b)))
	return c.Conn.Write(b)
}

// benchSession is a host with so many tasks, whose agent is the test: nothing goes over the wire but what the test says.
type benchSession struct {
	*testHost
	leader *testHost
	wire   *countingListener
	after  uint64
}

func newGuest(t *testing.T, tasks int) *benchSession {
	t.Helper()
	p, g := newPool(t), &benchSession{wire: new(countingListener)}
	g.leader = p.host(nil)
	g.leader.wrap = func(l net.Listener) net.Listener { g.wire.Listener = l; return g.wire }
	if err := g.leader.start(); err != nil {
		t.Fatal(err)
	}
	g.testHost = p.join(1)[0]
	eventually(t, "the guest is known", func() bool { return p.view().Host(g.cfg.HostID) != nil })
	g.agent.stop()
	server := g.leader.member.localServer()
	request := runOf(define(t, server, 0))
	request.Hosts = []string{g.cfg.HostID}
	atOnce(tasks, func(int) {
		if result := run(t.Context(), t, server, request); len(result.Tasks) != 1 {
			t.Error(result.Failures)
		}
	})
	g.join(t)
	return g
}

// join begins a session and waits for its first step.
func (g *benchSession) join(t *testing.T) (tasks int) {
	t.Helper()
	g.after = 0
	if _, err := g.member.openSession(t.Context(), g.leader.where, registration{Host: g.agent.host}); err != nil {
		t.Fatal(err)
	}
	return len(g.next(t))
}

// next waits for the next list of what the guest must run.
func (g *benchSession) next(t *testing.T) []spec.Assignment {
	t.Helper()
	list, index, err := g.member.Assignments(t.Context(), g.cfg.HostID, g.after)
	if err != nil {
		t.Fatal(err)
	}
	g.after = index
	return list
}

func TestOneChangeOnAHostWith200TasksMovesLessThan2kB(t *testing.T) {
	g := newGuest(t, 200)
	server := g.leader.member.localServer()
	definition := server.state.View().TasksOn(g.cfg.HostID)[0].Definition
	before := g.wire.bytes.Load()
	moved := func(what string) {
		t.Helper()
		now := g.wire.bytes.Load()
		if moved := now - before; moved > 2000 {
			t.Errorf("%s: %d bytes", what, moved)
		} else {
			t.Logf("%s: %d bytes", what, moved)
		}
		before = now
	}

	request := runOf(definition)
	request.Hosts = []string{g.cfg.HostID}
	task := run(t.Context(), t, server, request).Tasks[0]
	if list := g.next(t); len(list) != 201 {
		t.Fatalf("%d tasks", len(list))
	}
	moved("a task begins")

	apply(t, server, raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated, Reason: "enough"})
	list := g.next(t)
	place := slices.IndexFunc(list, func(a spec.Assignment) bool { return a.Task.ID == task.ID })
	if len(list) != 201 || list[place].Task.DesiredStatus != spec.Stopped || list[place].Task.StoppedReason != "enough" || list[place].Definition == nil {
		t.Fatalf("%d tasks, the one that stops: %+v", len(list), list[place])
	}
	moved("it is stopped")

	if _, err := g.member.Report(t.Context(), g.cfg.HostID, []spec.TaskReport{{TaskID: task.ID, Status: spec.Stopped}}); err != nil {
		t.Fatal(err)
	}
	if list := g.next(t); len(list) != 200 {
		t.Fatalf("%d tasks", len(list))
	}
	moved("it is over")
}

// A host that lost its session is told what has changed meanwhile, not what it knows.
func TestAHostThatComesBackIsToldWhatDiffers(t *testing.T) {
	g := newGuest(t, 200)
	server := g.leader.member.localServer()
	whole := g.wire.bytes.Load()
	g.member.dropUpstream(g.member.currentUpstream())

	gone := server.state.View().TasksOn(g.cfg.HostID)[0]
	if _, err := server.Report(t.Context(), g.cfg.HostID, []spec.TaskReport{{TaskID: gone.ID, Status: spec.Stopped}}); err != nil {
		t.Fatal(err)
	}
	if tasks := g.join(t); tasks != 199 {
		t.Errorf("%d tasks", tasks)
	}
	again := g.wire.bytes.Load() - whole
	t.Logf("%d bytes with the naming of 200 tasks, %d for the first time", again, whole)
	if again > 200*60+2000 {
		t.Errorf("%d bytes to come back", again)
	}

	// What was told is forgotten with the process: then everything is told again.
	g.member.dropUpstream(g.member.currentUpstream())
	g.member.lastSession.Store(nil)
	if tasks := g.join(t); tasks != 199 {
		t.Errorf("%d tasks after a restart", tasks)
	}
}
