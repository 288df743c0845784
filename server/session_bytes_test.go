package server

import (
	"net"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/dispatch"
)

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
	told   chan struct{} // what the newest session tells first of the pool has come
	after  uint64
}

// toldHost is a host that says when a session has told it of its pool.
type toldHost struct {
	*sessionHost
	told chan<- struct{}
}

func (h toldHost) OnPoolInfo(u dispatch.PoolInfoUpdate) {
	h.sessionHost.OnPoolInfo(u)
	select {
	case h.told <- struct{}{}:
	default:
	}
}

// connect replaces the host's connection to the servers with one that knows nothing.
func (g *benchSession) connect() {
	g.told = make(chan struct{}, 1)
	g.member.upstream = dispatch.NewUpstream(toldHost{g.member.session, g.told}, g.where, g.member.client, quiet())
}

func newGuest(t *testing.T, tasks int) *benchSession {
	t.Helper()
	p, g := newPool(t), &benchSession{wire: new(countingListener)}
	g.leader = p.host(func(c *MemberConfig) { c.Servers = 1 }) // with more, the second host is to become one
	g.leader.wrap = func(l net.Listener) net.Listener { g.wire.Listener = l; return g.wire }
	if err := g.leader.start(); err != nil {
		t.Fatal(err)
	}
	g.testHost = p.join(1)[0]
	eventually(t, "the guest is known", func() bool { return p.view().Host(g.cfg.HostID) != nil })
	g.agent.stop()
	g.member.upstream.Close() // its session must not be told of the tasks already
	g.connect()
	server := g.leader.member.localServer()
	eventually(t, "the session will not be told of other servers", func() bool {
		told, own := server.publisher.PoolInfo(), p.view().Host(g.leader.cfg.HostID)
		return own != nil && own.Server && told != nil && reflect.DeepEqual(*told, server.publisher.Build())
	})
	request := runOf(define(t, server, 0))
	request.Hosts = []string{g.cfg.HostID}
	atOnce(tasks, func(int) {
		if result := run(t.Context(), t, server, request); len(result.Tasks) != 1 {
			t.Error(result.Failures)
		}
	})
	if told := g.join(t); told != tasks {
		t.Fatalf("the first list has %d of %d tasks", told, tasks)
	}
	return g
}

// join begins a session and waits for what it tells first: of the pool, and what the host must run.
func (g *benchSession) join(t *testing.T) (tasks int) {
	t.Helper()
	g.after = 0
	select {
	case <-g.told: // by the session before
	default:
	}
	if _, err := g.member.upstream.Join(t.Context(), g.agent.host, nil); err != nil {
		t.Fatal(err)
	}
	<-g.told
	return len(g.next(t))
}

// next waits for the next list of what the guest must run.
func (g *benchSession) next(t *testing.T) []spec.Assignment {
	t.Helper()
	list, index, err := g.member.Agent().Assignments(t.Context(), g.cfg.HostID, g.after)
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
	index := slices.IndexFunc(list, func(a spec.Assignment) bool { return a.Task.ID == task.ID })
	if len(list) != 201 || list[index].Task.DesiredStatus != spec.Stopped || list[index].Task.StoppedReason != "enough" || list[index].Definition == nil {
		t.Fatalf("%d tasks, the one that stops: %+v", len(list), list[index])
	}
	moved("it is stopped")

	if _, err := g.member.Agent().Report(t.Context(), g.cfg.HostID, []spec.TaskReport{{TaskID: task.ID, Status: spec.Stopped}}); err != nil {
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
	g.member.upstream.Close()

	gone := server.state.View().TasksOn(g.cfg.HostID)[0]
	if _, err := server.agents.Report(t.Context(), g.cfg.HostID, []spec.TaskReport{{TaskID: gone.ID, Status: spec.Stopped}}); err != nil {
		t.Fatal(err)
	}
	if tasks := g.join(t); tasks != 199 {
		t.Errorf("%d tasks", tasks)
	}
	again := g.wire.bytes.Load() - whole
	t.Logf("%d bytes with the naming of 200 tasks, %d for the first time", again, whole)
	if again > 200*60+4000 { // 60 bytes a task, and the handshakes of two connections
		t.Errorf("%d bytes to come back", again)
	}

	// What was told is forgotten with the process: then everything is told again.
	g.member.upstream.Close()
	g.connect()
	if tasks := g.join(t); tasks != 199 {
		t.Errorf("%d tasks after a restart", tasks)
	}
}
