package logforward

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pinion/node/firelens"
	"pinion/raftfsm/logdriver"
)

// logRouter stands for a log router: it reads from the socket of a container with these files.
type logRouter struct {
	dir string

	mu    sync.Mutex
	got   bytes.Buffer
	l     net.Listener
	conns []net.Conn
}

func newLogRouter(t *testing.T) *logRouter {
	t.Helper()
	dir, err := os.MkdirTemp("", "router")
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "firelens", "run"), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &logRouter{dir: dir}
	t.Cleanup(func() { r.end(); os.RemoveAll(dir) })
	return r
}

// start listens; without read it takes nothing of what it is sent.
func (r *logRouter) start(t *testing.T, read bool) {
	t.Helper()
	path := filepath.Join(r.dir, "firelens", "run", "fluent.sock")
	_ = os.Remove(path)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	r.l = l
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.conns = append(r.conns, conn)
			r.mu.Unlock()
			if read {
				go r.read(conn)
			}
		}
	}()
}

func (r *logRouter) read(conn net.Conn) {
	text := make([]byte, 64<<10)
	for {
		n, err := conn.Read(text)
		r.mu.Lock()
		r.got.Write(text[:n])
		r.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (r *logRouter) end() {
	if r.l != nil {
		r.l.Close()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
}

// connections counts the open connections.
func (r *logRouter) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

func (r *logRouter) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// route begins to give the log to a router.
func (w *written) route(r *logRouter) *Forwarders {
	w.t.Helper()
	f := w.forwarders()
	n := forwardRecord{Log: logdriver.Configuration{LogDriver: logdriver.Firelens}, ID: of.Task + ".main", Short: firelens.Tag("main", of.Task), Router: r.dir}
	if _, err := f.begin(of, n, nil, true); err != nil {
		w.t.Fatal(err)
	}
	return f
}

// The router gets all lines with the tag of their container: those from before it listened, those from when it was away, and the last ones before it is stopped.
func TestALogRouterGetsTheLinesOfItsTask(t *testing.T) {
	r, w := newLogRouter(t), newLog(t)
	f := w.route(r)
	w.add(50, " line ")
	r.start(t, true)
	eventually(t, "the first lines", func() bool { return strings.Contains(r.text(), " line 49") })
	if !strings.Contains(r.text(), "main-firelens-"+of.Task) {
		t.Errorf("the tag is missing in %.300q", r.text())
	}
	r.end()
	w.add(50, " line ")
	r.start(t, true)
	eventually(t, "those from when it was away", func() bool { return strings.Contains(r.text(), " line 99") })
	w.add(10, " line ")
	w.end()
	for _, routed := range f.routed(of.Task) {
		routed.over.Store(true)
		<-routed.ended
	}
	if text := r.text(); !strings.Contains(text, " line 109") || w.noted() {
		t.Errorf("the last lines are missing, or something is left to do")
	}
	if said := w.said(); strings.Contains(said, firelens.ErrNotListening.Error()) {
		t.Errorf("a router that starts is a failure: %q", said)
	}
}

// A router that reads nothing holds up neither the container nor the disk, and one that has ended with its task is not waited for.
func TestALogRouterThatReadsNothing(t *testing.T) {
	r, w := newLogRouter(t), newLog(t)
	r.start(t, false)
	f := w.route(r)
	for range 20 {
		w.add(100, strings.Repeat("x", 10_000)+" line ")
		w.rotate()
	}
	eventually(t, "the stall", func() bool { return strings.Contains(w.said(), errStalled.Error()) })
	w.end()
	r.end()
	f.markEnded(of.Task)
	eventually(t, "the end", func() bool { return !w.noted() && strings.Contains(w.said(), "the log router of the task has ended") })
}

// After a restart of the agent a router that fails is tried again as long as its container may run, also for the log of a container that has ended. When its
// files are gone, its task has ended while there was no agent.
func TestALogRouterThatFailsAfterARestartOfTheAgent(t *testing.T) {
	for name, runs := range map[string]bool{"the router runs": true, "its task has ended": false} {
		t.Run(name, func(t *testing.T) {
			r, w := newLogRouter(t), newLog(t)
			f := w.route(r)
			w.add(50, " line ")
			w.end()
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			r.start(t, false)
			w.forwarders()
			eventually(t, "a connection", func() bool { return r.connections() > 0 })
			if !runs {
				if err := os.RemoveAll(r.dir); err != nil {
					t.Fatal(err)
				}
			}
			r.end() // the forwarder learns that nothing was taken
			if runs {
				r.start(t, true)
			}
			eventually(t, "the end", func() bool { return !w.noted() })
			if got := strings.Contains(r.text(), " line 49"); got != runs {
				t.Errorf("the router has the last line: %v", got)
			}
		})
	}
}
