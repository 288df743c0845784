package proxy_test

import (
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/traffic"
)

func TestARequestWaitsForATarget(t *testing.T) {
	s := newSite(t)
	s.apply(toGroup(group("web")))
	answers := make(chan string)
	for range 10 {
		go func() {
			_, body := s.get(80, "/")
			answers <- body
		}()
	}
	s.eventually(func() bool {
		return s.metrics("web", "").Waiting == 10 && maps.Equal(s.Waiting(), map[string]int{"web": 10})
	})
	ready := s.named("ready")
	s.apply(toGroup(group("web", in(ready, traffic.Initial))))
	s.apply(toGroup(group("web", ready)))
	for range 10 {
		if body := <-answers; body != "ready" {
			t.Error(body)
		}
	}
	if waiting := s.Waiting(); len(waiting) > 0 {
		t.Errorf("%v wait still", waiting)
	}
}

func TestWaitingIsBounded(t *testing.T) {
	refused := func(name, why string, change func(*traffic.Group)) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			g := group("web")
			change(&g)
			s.apply(toGroup(g))
			answer, err := http.Get("http://" + s.address(80))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(string(body), why) {
				t.Errorf("%d %v %s", answer.StatusCode, answer.Header, body)
			}
		})
	}
	refused("in number", "target group web has no healthy target", func(g *traffic.Group) { g.MaxWaiting = -1 })
	refused("in time", "target group Web had no healthy target for 1ms", func(g *traffic.Group) { g.Name, g.WaitTimeout = "Web", time.Millisecond })
}

func TestNobodyWaitsForAGroupThatIsGone(t *testing.T) {
	s := newSite(t)
	routing := toGroup(group("web"))
	s.apply(routing)
	status := make(chan int)
	go func() {
		code, _ := s.get(80, "/")
		status <- code
	}()
	s.eventually(func() bool { return s.metrics("web", "").Waiting == 1 })
	routing.Groups[0].ID = "other"
	routing.Listeners = []traffic.Listener{listener(80, traffic.HTTP, forward("other"))}
	routing.Groups = []traffic.Group{group("other")}
	s.apply(routing)
	if code := <-status; code != http.StatusServiceUnavailable {
		t.Error(code)
	}
}

func TestASilentTargetIsA504(t *testing.T) {
	s := newSite(t)
	routing := toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })))
	routing.Listeners[0].IdleTimeout = 200 * time.Millisecond
	s.apply(routing)
	if status, body := s.get(80, "/"); status != http.StatusGatewayTimeout {
		t.Error(status, body)
	}
}

// A request that takes longer than its limit is a 504 while there is no answer, and is cut off in the middle of one. A connection that was
// upgraded has no limit.
func TestARequestHasToBeAnsweredInTime(t *testing.T) {
	s := newSite(t)
	routing := toGroup(group("web", s.server(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/upgrade" {
			conn, both, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			_, _ = io.CopyN(conn, both, 4)
			return
		}
		if r.URL.Path == "/stream" {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		if r.URL.Path != "/fast" {
			<-r.Context().Done()
		}
	})))
	routing.Listeners[0].RequestTimeout = 100 * time.Millisecond
	s.apply(routing)
	upgraded := s.dial(80)
	_, _ = io.WriteString(upgraded, "GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if status, body := s.get(80, "/slow"); status != http.StatusGatewayTimeout || !strings.Contains(body, "100ms") {
		t.Error(status, body)
	}
	conn := s.dial(80)
	_, _ = io.WriteString(conn, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n")
	if all, _ := io.ReadAll(conn); !strings.Contains(string(all), "half") || strings.HasSuffix(string(all), "0\r\n\r\n") {
		t.Errorf("a stream that is too long ends as %q", all)
	}
	if status, body := s.get(80, "/fast"); status != http.StatusOK {
		t.Error(status, body)
	}
	_, _ = io.WriteString(upgraded, "ping")
	if all, _ := io.ReadAll(upgraded); !strings.HasSuffix(string(all), "ping") {
		t.Errorf("an upgraded connection is cut off: %q", all)
	}
}

// TestAWaitForATargetIsOfTheTimeOfARequest: it is answered as one that a target takes too long for.
func TestAWaitForATargetIsOfTheTimeOfARequest(t *testing.T) {
	s := newSite(t)
	routing := toGroup(group("web"))
	routing.Listeners[0].RequestTimeout = 100 * time.Millisecond
	s.apply(routing)
	if status, body := s.get(80, "/"); status != http.StatusGatewayTimeout {
		t.Error(status, body)
	}
}

// TestALimitIsOfWhatIsInFlight: beyond it a request is refused at once, with the reason; what ends makes room.
func TestALimitIsOfWhatIsInFlight(t *testing.T) {
	s := newSite(t)
	begun, finish := make(chan bool), make(chan bool)
	g := group("web", s.server(func(http.ResponseWriter, *http.Request) { begun <- true; <-finish }))
	g.MaxInFlight = 2
	s.apply(toGroup(g))
	statuses := make(chan int)
	ask := func() { status, _ := s.get(80, "/"); statuses <- status }
	for range 2 {
		go ask()
		<-begun
	}
	status, body := s.get(80, "/")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "has 2 requests in flight on this host, which is its limit") {
		t.Errorf("%d %s", status, body)
	}
	finish <- true
	if status := <-statuses; status != http.StatusOK {
		t.Error(status)
	}
	s.eventually(func() bool { return s.metrics("web", "").InFlight == 1 })
	go ask()
	<-begun
	close(finish)
	for range 2 {
		if status := <-statuses; status != http.StatusOK {
			t.Error(status)
		}
	}
}
