package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pinion/raftfsm/traffic"
)

func TestARequestReachesATargetAndSaysWhereItCameFrom(t *testing.T) {
	cases := []struct {
		name   string
		change func(*traffic.Listener)
		sent   http.Header
		want   map[string]string
	}{
		{"none before", nil, nil, map[string]string{"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http", "X-Forwarded-Port": "80"}},
		{"appended", nil, http.Header{"X-Forwarded-For": {"10.0.0.1"}}, map[string]string{"X-Forwarded-For": "10.0.0.1, 127.0.0.1"}},
		{"preserved", func(l *traffic.Listener) { l.XForwardedFor = traffic.XFFPreserve }, http.Header{"X-Forwarded-For": {"10.0.0.1"}},
			map[string]string{"X-Forwarded-For": "10.0.0.1"}},
		{"removed", func(l *traffic.Listener) { l.XForwardedFor = traffic.XFFRemove }, http.Header{"X-Forwarded-For": {"10.0.0.1"}},
			map[string]string{"X-Forwarded-For": ""}},
		{"a client's own words", nil, http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Port": {"443"}, "X_forwarded_for": {"1.2.3.4"}},
			map[string]string{"X-Forwarded-Proto": "http", "X-Forwarded-Port": "80", "X_forwarded_for": ""}},
		{"removed as hop-by-hop", nil, http.Header{"Connection": {"X-Forwarded-For"}}, map[string]string{"X-Forwarded-For": "127.0.0.1"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			seen := make(chan *http.Request, 1)
			routing := toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) { seen <- r })))
			if c.change != nil {
				c.change(&routing.Listeners[0])
			}
			s.apply(routing)
			r, _ := http.NewRequest(http.MethodGet, "http://"+s.address(80)+"/a%2Fb?x=1;y&z", nil)
			r.Host, r.Header = "example.test", c.sent
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			got := <-seen
			if got.Host != "example.test" || got.RequestURI != "/a%2Fb?x=1;y&z" {
				t.Errorf("host %q, %q: want both as they were sent", got.Host, got.RequestURI)
			}
			for name, want := range c.want {
				if have := strings.Join(got.Header[name], "|"); have != want {
					t.Errorf("%s: %q, want %q", name, have, want)
				}
			}
		})
	}
}

func TestAStreamIsPassedOnPieceByPiece(t *testing.T) {
	for _, kind := range []string{"text/event-stream", "application/octet-stream"} {
		s := newSite(t)
		next := make(chan bool)
		s.apply(toGroup(group("web", s.server(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n", i)
				w.(http.Flusher).Flush()
				<-next
			}
		}))))
		answer, err := http.Get("http://" + s.address(80))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(answer.Body)
		for i := range 3 { // each piece comes while the target waits with the next one
			if want := fmt.Sprintf("data: %d", i); !lines.Scan() || lines.Text() != want {
				t.Fatalf("%s: %q, want %q", kind, lines.Text(), want)
			}
			next <- true
		}
		answer.Body.Close()
	}
}

// TestAnAnswerWithoutATypeHasNone: a client may take what a proxy guesses for what the target has said.
func TestAnAnswerWithoutATypeHasNone(t *testing.T) {
	s := newSite(t)
	s.apply(toGroup(group("web", s.server(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, "<html>")
	}))))
	answer, err := http.Get("http://" + s.address(80))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind, typed := answer.Header["Content-Type"]; typed {
		t.Errorf("the proxy has made up %q", kind)
	}
}

func TestATargetLearnsThatItsClientLeft(t *testing.T) {
	s := newSite(t)
	begun, left := make(chan bool), make(chan bool)
	s.apply(toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(left)
	}))))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address(80), nil)
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	<-left
}

func TestWhatDoesNotReachItsTargetIsSentToAnother(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		s := newSite(t)
		s.apply(toGroup(group("web", s.refused(), s.refused(), s.server(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		}))))
		for range 20 {
			r, _ := http.NewRequest(method, "http://"+s.address(80), strings.NewReader("all of it"))
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if body := read(t, answer.Body); answer.StatusCode != http.StatusOK || body != "all of it" {
				t.Fatalf("%s: %d %q", method, answer.StatusCode, body)
			}
		}
	}
}

func TestOnlyWhatMeansTheSameTwiceIsRepeated(t *testing.T) {
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusBadGateway} {
		s := newSite(t)
		breaks := func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }
		bad, good := s.server(breaks), s.named("good")
		s.apply(toGroup(group("web", bad)))
		if status, _ := s.get(80, "/"); status != http.StatusBadGateway {
			t.Fatalf("without another target: %d", status)
		}
		g := group("web", bad, good)
		g.Algorithm = traffic.RoundRobin
		s.apply(toGroup(g))
		worst := 0
		for range 2 { // each target is tried first once
			r, _ := http.NewRequest(method, "http://"+s.address(80), nil)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			worst = max(worst, answer.StatusCode)
		}
		if worst != want {
			t.Errorf("%s: %d, want %d", method, worst, want)
		}
	}
}

func TestABrokenAnswerIsNotPassedOnAsWhole(t *testing.T) {
	s := newSite(t)
	s.apply(toGroup(group("web", s.server(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))))
	answer, err := http.Get("http://" + s.address(80))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("the client takes %q for all", body)
	}
	s.eventually(func() bool { _, errors := s.ended("web"); return errors == 1 && s.metrics("web", "").InFlight == 0 })
}

// TestATargetWithoutRoomIsPassedOver: another one gets the request, if it may be sent twice; what the first one says is the answer when there is no other.
func TestATargetWithoutRoomIsPassedOver(t *testing.T) {
	for _, busy := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		s := newSite(t)
		full := s.server(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(busy)
		})
		g := group("web", full, s.named("room"))
		g.Algorithm = traffic.RoundRobin
		s.apply(toGroup(g))
		if counts := s.counted(4, nil); counts["room"] != 4 {
			t.Errorf("%d: %v", busy, counts)
		}
		asPost := func(r *http.Request) { r.Method = http.MethodPost }
		if counts := s.counted(4, asPost); counts["room"] != 2 {
			t.Errorf("%d to POST: %v", busy, counts)
		}
		s.apply(toGroup(group("web", full)))
		answer, err := http.Get("http://" + s.address(80))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != busy || answer.Header.Get("Retry-After") != "7" {
			t.Error(answer.StatusCode, answer.Header)
		}
	}
}
