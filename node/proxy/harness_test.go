package proxy_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"pinion/node/proxy"
	"pinion/raftfsm/traffic"
)

// site is a proxy on this machine. The ports of its listeners are of the routing only: each is a free one of 127.0.0.1.
type site struct {
	*testing.T
	*proxy.Proxy
	mu      sync.Mutex
	opened  map[int]net.Listener
	refuse  map[int]error // ports that cannot be opened
	drained chan string
}

func newSite(t *testing.T, change ...func(*proxy.Config)) *site {
	s := &site{T: t, opened: map[int]net.Listener{}, refuse: map[int]error{}, drained: make(chan string, 100)}
	config := proxy.Config{Address: "127.0.0.1:7400", Listen: s.listen, Drained: func(id string) { s.drained <- id }, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&config)
	}
	s.Proxy = proxy.New(config)
	t.Cleanup(func() { s.Close(t.Context()) })
	return s
}

func (s *site) listen(port int) (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refuse[port]; err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	s.opened[port] = l
	return l, err
}

// allow has a port be opened, or not.
func (s *site) allow(port int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse[port] = err
}

// address is the address of the listener of a port.
func (s *site) address(port int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened[port].Addr().String()
}

// apply fails the test when a listener does not serve.
func (s *site) apply(r traffic.Routing) {
	s.Helper()
	for id, err := range s.Apply(r) {
		s.Fatalf("listener %s: %v", id, err)
	}
}

func (s *site) dial(port int) net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", s.address(port))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { conn.Close() })
	return conn
}

// get asks the listener of a port with a connection of its own; without an answer, status is 0.
func (s *site) get(port int, path string) (status int, body string) {
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + s.address(port) + path)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(bytes.TrimSpace(all))
}

func read(t *testing.T, body io.ReadCloser) string {
	t.Helper()
	defer body.Close()
	all, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(all))
}

// server is a target; it ends with the test.
func (s *site) server(handler http.HandlerFunc) traffic.Target {
	started := httptest.NewServer(handler)
	s.Cleanup(started.Close)
	return target(started.Listener.Addr().String())
}

// named is a target that answers with its name.
func (s *site) named(name string) traffic.Target {
	return s.server(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, name) })
}

func target(address string) traffic.Target {
	return traffic.Target{ID: "target-" + address, Address: address, State: traffic.Healthy}
}

// refused is a target that nobody listens at.
func (s *site) refused() traffic.Target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	defer l.Close()
	return target(l.Addr().String())
}

func group(id string, targets ...traffic.Target) traffic.Group {
	return traffic.Group{ID: id, Protocol: traffic.HTTP, Targets: targets}
}

func in(t traffic.Target, state traffic.TargetState) traffic.Target {
	t.State = state
	return t
}

func forward(groups ...string) traffic.Rule {
	r := traffic.Rule{ID: "default"}
	for _, id := range groups {
		r.Action.Forward = append(r.Action.Forward, traffic.WeightedGroup{Group: id, Weight: 1})
	}
	return r
}

func listener(port int, protocol traffic.Protocol, rules ...traffic.Rule) traffic.Listener {
	return traffic.Listener{ID: "listener-" + string(rune('a'+port%26)), Port: port, Protocol: protocol, Rules: rules}
}

// toGroup is a listener on port 80 in front of one group.
func toGroup(g traffic.Group) traffic.Routing {
	return traffic.Routing{Listeners: []traffic.Listener{listener(80, traffic.HTTP, forward(g.ID))}, Groups: []traffic.Group{g}}
}

// metrics are the metrics of a group, or of a target of it.
func (s *site) metrics(group, target string) proxy.Metrics {
	for _, m := range s.Metrics() {
		if m.Group == group && m.Target == target {
			return m
		}
	}
	return proxy.Metrics{}
}

// ended counts the ended requests of a group, whichever target got them, and the errors among them.
func (s *site) ended(group string) (requests, errors uint64) {
	for _, m := range s.Metrics() {
		if m.Group == group {
			requests, errors = requests+m.Requests, errors+m.Errors
		}
	}
	return requests, errors
}

// eventually waits for what another goroutine is about to do.
func (s *site) eventually(holds func() bool) {
	s.Helper()
	for !holds() {
		if s.Context().Err() != nil {
			s.Fatal("it did not come true")
		}
		runtime.Gosched()
	}
}
