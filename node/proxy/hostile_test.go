package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/proxy"
	"pinion/raftfsm/traffic"
)

// request is one over a connection that stays open.
func (s *site) request(conn net.Conn) error {
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// TestIdleConnectionsAreCheap: 10,000 clients that have asked once and stay, or as many as this process may have files for.
func TestIdleConnectionsAreCheap(t *testing.T) {
	const mostBytes = 64 << 10 // of each; the client's end is in this process, too
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	clients := min(10_000, int64(files.Cur)/2-500)
	s := newSite(t)
	s.apply(toGroup(group("web", s.named("web"))))
	before := memory()
	for range clients {
		if err := s.request(s.dial(80)); err != nil {
			t.Fatal(err)
		}
	}
	if each := (memory() - before) / clients; each > mostBytes {
		t.Errorf("%d bytes for each, want at most %d", each, mostBytes)
	}
	if status, _ := s.get(80, "/"); status != http.StatusOK {
		t.Error(status)
	}
}

func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// TestBeyondTheBoundTheOldestIdleConnectionsGo: a flood of connections closes idle ones, not those with a request in flight.
func TestBeyondTheBoundTheOldestIdleConnectionsGo(t *testing.T) {
	const most = 64
	s := newSite(t, func(c *proxy.Config) { c.MaxConnections = most })
	begun, finish := make(chan bool), make(chan bool)
	s.apply(toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			begun <- true
			<-finish
		}
	}))))
	slow := make(chan int)
	go func() { status, _ := s.get(80, "/slow"); slow <- status }()
	<-begun
	flood := make([]net.Conn, 3*most)
	for i := range flood {
		flood[i] = s.dial(80)
		if err := s.request(flood[i]); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, err := flood[0].Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the oldest: %v", err)
	}
	finish <- true
	if status := <-slow; status != http.StatusOK {
		t.Errorf("what was in flight: %d", status)
	}
}

// shortOfFiles accepts nothing at first, as when a process may open no more files.
type shortOfFiles struct {
	net.Listener
	left atomic.Int32
}

func (l *shortOfFiles) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAListenerOutlivesALackOfFiles(t *testing.T) {
	for _, protocol := range []traffic.Protocol{traffic.HTTP, traffic.TCP} {
		var address string
		s := newSite(t, func(c *proxy.Config) {
			c.Listen = func(int) (net.Listener, error) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				address = l.Addr().String()
				short := &shortOfFiles{Listener: l}
				short.left.Store(3)
				return short, err
			}
		})
		routing := toGroup(group("web", s.named("web")))
		routing.Listeners[0].Protocol = protocol
		s.apply(routing)
		answer, err := http.Get("http://" + address)
		if err != nil {
			t.Fatal(protocol, err)
		}
		if body := read(t, answer.Body); body != "web" {
			t.Errorf("%s: %q", protocol, body)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// TestASlowHeaderIsCutOff: a byte at a time does not hold a connection for longer than the header's time.
func TestASlowHeaderIsCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 10 s")
	}
	s := newSite(t)
	s.apply(toGroup(group("web", s.named("web"))))
	conn := s.dial(80)
	drip := time.NewTicker(100 * time.Millisecond)
	defer drip.Stop()
	go func() {
		for range drip.C {
			if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nX: "[:1]); err != nil {
				return
			}
		}
	}()
	if all, _ := io.ReadAll(conn); strings.Contains(string(all), "200 OK") {
		t.Errorf("%q", all)
	}
}

// TestClientsCannotDriveOutATarget: what they do wrong is not counted as the target's failure.
func TestClientsCannotDriveOutATarget(t *testing.T) {
	s := newSite(t)
	g := group("web", s.named("a"), s.named("b"))
	g.Algorithm = traffic.RoundRobin
	s.apply(toGroup(g))
	for range 40 {
		conn := s.dial(80)
		_, _ = io.WriteString(conn, chunked("no size\r\n"))
		if answers := statuses(bufio.NewReader(conn)); answers != refused {
			t.Fatal(answers)
		}
	}
	if counts := s.counted(20, nil); counts["a"] != 10 || counts["b"] != 10 {
		t.Error(counts)
	}
}

// lockedBuffer is the buffer of an access log.
type lockedBuffer struct {
	mu  sync.Mutex
	all strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func TestEachRequestIsALineOfTheAccessLog(t *testing.T) {
	var log lockedBuffer
	s := newSite(t, func(c *proxy.Config) { c.AccessLog = &log })
	web := s.named("web")
	s.apply(toGroup(group("web", web)))
	s.get(80, "/a?b="+strings.Repeat("x", 5000))
	s.get(80, "/\"quoted\"")
	s.Close(t.Context())
	lines := strings.Split(strings.TrimSpace(log.all.String()), "\n")
	if len(lines) != 2 {
		t.Fatal(lines)
	}
	var first map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"status": 200.0, "group": "web", "target": web.ID, "sent": 3.0, "method": "GET", "attempts": 1.0} {
		if first[name] != want {
			t.Errorf("%s: %v, want %v", name, first[name], want)
		}
	}
	if n := len(fmt.Sprint(first["uri"])); n != 1024 {
		t.Errorf("%d bytes of the target", n)
	}
}

// TestAnAccessLogThatBlocksDelaysNoRequest: lines are dropped and counted.
func TestAnAccessLogThatBlocksDelaysNoRequest(t *testing.T) {
	reader, writer := io.Pipe()
	s := newSite(t, func(c *proxy.Config) { c.AccessLog = writer })
	s.Cleanup(func() { reader.Close() })
	fixed := traffic.Rule{Action: traffic.Action{FixedResponse: &traffic.FixedResponse{StatusCode: http.StatusOK}}}
	s.apply(traffic.Routing{Listeners: []traffic.Listener{listener(80, traffic.HTTP, fixed)}})
	s.counted(5000, nil)
	s.eventually(func() bool { return s.Dropped() > 800 })
}

// A request is counted once: of the target that got it last, or of its group when none did. Each says whose it is: the target's own service, or that of the group.
func TestMetricsAreOfTheTargetThatGotTheRequest(t *testing.T) {
	s := newSite(t)
	bad := s.server(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	g := group("web", bad)
	g.Name, g.Owner, g.MaxWaiting = "front", traffic.Owner{Cluster: "default", Service: "web"}, -1
	s.apply(toGroup(g))
	s.counted(3, nil)
	s.eventually(func() bool { return s.metrics("web", bad.ID).Requests == 3 })
	m := s.metrics("web", bad.ID)
	var took, began uint64
	for i := range m.Latency.Counts {
		took, began = took+m.Latency.Counts[i], began+m.FirstByte.Counts[i]
	}
	if m.ByClass != [proxy.Classes]uint64{5: 3} || m.Errors != 3 || took != 3 || began != 3 || m.Latency.Sum < m.FirstByte.Sum || m.Name != "front" || m.Owner != g.Owner {
		t.Errorf("%+v", m)
	}
	other := traffic.Owner{Cluster: "lab", Service: "canary"}
	bad.Owner, bad.State = &other, traffic.Unhealthy
	g.Targets = []traffic.Target{bad}
	s.apply(toGroup(g))
	s.counted(1, nil)
	s.eventually(func() bool { ended, _ := s.ended("web"); return ended == 4 })
	if m := s.metrics("web", ""); m.ByClass != [proxy.Classes]uint64{5: 1} || m.Errors != 1 || m.Owner != g.Owner {
		t.Errorf("nobody got it: %+v", m)
	}
	if m := s.metrics("web", bad.ID); m.Requests != 3 || m.Owner != other {
		t.Errorf("%+v", m)
	}
}
