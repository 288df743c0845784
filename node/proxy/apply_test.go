package proxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"pinion/node/proxy"
	"pinion/raftfsm/traffic"
)

func TestAListenerComesAndGoesWithoutTouchingOthers(t *testing.T) {
	s := newSite(t)
	groups := []traffic.Group{group("a", s.named("a")), group("b", s.named("b"))}
	first, second := listener(80, traffic.HTTP, forward("a")), listener(81, traffic.HTTP, forward("b"))
	s.apply(traffic.Routing{Listeners: []traffic.Listener{first}, Groups: groups})
	kept := s.dial(80)
	reader := bufio.NewReader(kept)
	ask := func(want string) {
		t.Helper()
		_, _ = io.WriteString(kept, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body := read(t, answer.Body); body != want {
			t.Fatalf("%q, want %q", body, want)
		}
	}
	ask("a")
	s.apply(traffic.Routing{Listeners: []traffic.Listener{first, second}, Groups: groups})
	ask("a")
	first.Rules = []traffic.Rule{forward("b")}
	s.apply(traffic.Routing{Listeners: []traffic.Listener{first, second}, Groups: groups})
	ask("b") // the same connection, the new rule
	if _, body := s.get(81, "/"); body != "b" {
		t.Errorf("the second listener: %q", body)
	}
	gone := s.address(81)
	s.apply(traffic.Routing{Listeners: []traffic.Listener{first}, Groups: groups})
	ask("b")
	if _, err := http.Get("http://" + gone); err == nil {
		t.Error("the listener that is gone still answers")
	}
}

func TestAListenerThatIsGoneFinishesItsRequests(t *testing.T) {
	s := newSite(t)
	begun, finish := make(chan bool), make(chan bool)
	s.apply(toGroup(group("web", s.server(func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-finish
		_, _ = io.WriteString(w, "whole")
	}))))
	type result struct {
		body string
		err  error
	}
	results := make(chan result)
	go func() {
		answer, err := http.Get("http://" + s.address(80))
		if err != nil {
			results <- result{err: err}
			return
		}
		body, err := io.ReadAll(answer.Body)
		results <- result{string(body), err}
	}()
	<-begun
	s.apply(traffic.Routing{})
	finish <- true
	if r := <-results; r.body != "whole" || r.err != nil {
		t.Error(r)
	}
}

func TestWhatIsWrongWithAListenerIsSaidAndTriedAgain(t *testing.T) {
	told := make(chan []traffic.ListenerProblem, 10)
	s := newSite(t, func(c *proxy.Config) { c.Problems = func(all []traffic.ListenerProblem) { told <- all } })
	web := group("web", s.named("web"))
	good, bad := listener(80, traffic.HTTP, forward("web")), listener(81, traffic.HTTP, forward("web"))
	s.allow(81, errors.New("address already in use"))
	problems := s.Apply(traffic.Routing{Listeners: []traffic.Listener{good, bad}, Groups: []traffic.Group{web}})
	if len(problems) != 1 || !strings.Contains(fmt.Sprint(problems[bad.ID]), "cannot listen on port 81: address already in use; free the port") {
		t.Fatal(problems)
	}
	if all := <-told; len(all) != 1 || all[0] != (traffic.ListenerProblem{Listener: bad.ID, Port: 81, Problem: problems[bad.ID].Error()}) {
		t.Errorf("what the host was told: %+v", all)
	}
	if _, body := s.get(80, "/"); body != "web" {
		t.Errorf("the other listener: %q", body)
	}
	s.allow(81, nil)
	if all := <-told; len(all) != 0 {
		t.Errorf("what the host was told when the listener served: %+v", all)
	}
	if _, body := s.get(81, "/"); body != "web" {
		t.Errorf("the listener that was tried again: %q", body)
	}
}

func TestAListenerThatCannotServeSaysWhy(t *testing.T) {
	odd := forward("web")
	odd.Conditions = []traffic.Condition{{Field: "moon-phase"}}
	block := forward("web")
	block.Conditions = []traffic.Condition{{Field: traffic.SourceIP, Values: []string{"10.0.0.0"}}}
	cases := []struct {
		name     string
		listener traffic.Listener
		want     string
	}{
		{"no rules", listener(81, traffic.HTTP), "has no default rule"},
		{"an unknown condition", listener(81, traffic.HTTP, odd, forward("web")), `a condition on "moon-phase" is not known`},
		{"no CIDR block", listener(81, traffic.HTTP, block, forward("web")), `"10.0.0.0" is no CIDR block`},
		{"a group that is not there", listener(81, traffic.HTTP, forward("none")), "there is no target group none"},
		{"a taken port", listener(80, traffic.HTTP, forward("web")), "port 80 is already that of listener"},
		{"no certificate", listener(81, traffic.HTTPS, forward("web")), "needs a certificate"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			routing := toGroup(group("web", s.named("web")))
			c.listener.ID = "bad"
			routing.Listeners = append(routing.Listeners, c.listener)
			if err := fmt.Sprint(s.Apply(routing)["bad"]); !strings.Contains(err, c.want) {
				t.Errorf("%s, want %q in it", err, c.want)
			}
		})
	}
}

// TestABadChangeLeavesWhatWasThere: nobody gets less because somebody wrote a bad rule.
func TestABadChangeLeavesWhatWasThere(t *testing.T) {
	s := newSite(t)
	routing := toGroup(group("web", s.named("web")))
	s.apply(routing)
	routing.Listeners = []traffic.Listener{listener(80, traffic.HTTP, forward("none"))}
	if problems := s.Apply(routing); len(problems) != 1 {
		t.Fatal(problems)
	}
	if _, body := s.get(80, "/"); body != "web" {
		t.Errorf("%q, want what the rule before said", body)
	}
}

func TestCloseCutsOffWhatDoesNotEnd(t *testing.T) {
	s := newSite(t)
	begun := make(chan bool)
	s.apply(toGroup(group("web", s.server(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))))
	done := make(chan error)
	go func() {
		_, err := http.Get("http://" + s.address(80))
		done <- err
	}()
	<-begun
	s.Close(canceled(t))
	if err := <-done; err == nil {
		t.Error("the request was answered")
	}
}

// TestWhatCameBeforeTheEndIsServed: a client whose request is still on its way as the host is stopped gets its answer, from a target that is as healthy as ever; without
// one it does not wait.
func TestWhatCameBeforeTheEndIsServed(t *testing.T) {
	for name, c := range map[string]struct {
		state  traffic.TargetState
		status int
	}{"healthy": {traffic.Healthy, http.StatusOK}, "none": {traffic.Unhealthy, http.StatusServiceUnavailable}} {
		s := newSite(t)
		targets := group("web", s.named("web"))
		for i := range targets.Targets {
			targets.Targets[i].State = c.state
		}
		s.apply(toGroup(group("web", s.named("web"))))
		client := s.dial(80)
		fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: web\r\n")
		if status, _ := s.get(80, "/"); status != http.StatusOK { // which was accepted behind the first client
			t.Fatal(status)
		}
		s.apply(toGroup(targets))
		closed := make(chan struct{})
		go func() { s.Close(t.Context()); close(closed) }()
		for {
			conn, err := net.Dial("tcp", s.address(80))
			if err != nil {
				break
			}
			conn.Close()
		}
		s.Apply(traffic.Routing{}) // waits until the end has begun, and does no more
		fmt.Fprint(client, "\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil || answer.StatusCode != c.status {
			t.Errorf("%s: %v %v", name, answer, err)
		}
		client.Close()
		<-closed
	}
}
