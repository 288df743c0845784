package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/raftfsm/traffic"
)

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// counted asks n times, one after another, and counts the answers.
func (s *site) counted(n int, change func(*http.Request)) map[string]int {
	s.Helper()
	counts := map[string]int{}
	for range n {
		r, _ := http.NewRequest(http.MethodGet, "http://"+s.address(80), nil)
		if change != nil {
			change(r)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			s.Fatal(err)
		}
		counts[read(s.T, answer.Body)]++
	}
	return counts
}

func TestRoundRobinIsEven(t *testing.T) {
	s := newSite(t)
	g := group("web", s.named("a"), s.named("b"), s.named("c"))
	g.Algorithm = traffic.RoundRobin
	s.apply(toGroup(g))
	if counts := s.counted(30, nil); counts["a"] != 10 || counts["b"] != 10 || counts["c"] != 10 {
		t.Error(counts)
	}
}

// TestABusyTargetGetsNoMore: of two targets, one holds its request; all others go to the other one.
func TestABusyTargetGetsNoMore(t *testing.T) {
	s := newSite(t)
	hold, held := make(chan bool), make(chan bool)
	busy := s.server(func(w http.ResponseWriter, _ *http.Request) {
		held <- true
		<-hold
	})
	s.apply(toGroup(group("web", busy)))
	done := make(chan bool)
	go func() { s.get(80, "/"); close(done) }()
	<-held
	s.apply(toGroup(group("web", busy, s.named("free"))))
	if counts := s.counted(50, nil); counts["free"] != 50 {
		t.Error(counts)
	}
	hold <- true
	<-done
}

func TestWeightsDivideRequestsAmongGroups(t *testing.T) {
	s := newSite(t)
	routing := toGroup(group("a", s.named("a")))
	routing.Groups = append(routing.Groups, group("b", s.named("b")), group("c", s.named("c")))
	routing.Listeners[0].Rules[0].Action.Forward = []traffic.WeightedGroup{{Group: "a", Weight: 3}, {Group: "b", Weight: 1}, {Group: "c", Weight: 0}}
	s.apply(routing)
	if counts := s.counted(400, nil); counts["a"] < 240 || counts["b"] < 50 || counts["c"] > 0 {
		t.Error(counts)
	}
}

func TestSlowStartSparesAFreshTarget(t *testing.T) {
	for _, algorithm := range []traffic.Algorithm{traffic.RoundRobin, traffic.LeastOutstanding} {
		s := newSite(t)
		warm, fresh := s.named("warm"), s.named("fresh")
		fresh.Since = time.Now()
		g := group("web", warm, fresh)
		g.Algorithm, g.SlowStart = algorithm, time.Hour
		s.apply(toGroup(g))
		if counts := s.counted(200, nil); counts["fresh"] > 60 {
			t.Error(algorithm, counts)
		}
	}
}

func TestATargetThatKeepsFailingIsEjectedButNeverTheLast(t *testing.T) {
	s := newSite(t)
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "broken")
	}
	g := group("web", s.server(broken), s.named("good"))
	g.Algorithm = traffic.RoundRobin
	s.apply(toGroup(g))
	if counts := s.counted(100, nil); counts["broken"] != 5 || counts["good"] != 95 {
		t.Errorf("%v, want 5 from the broken one", counts)
	}
	s.apply(toGroup(group("web", s.server(broken), s.server(broken))))
	if counts := s.counted(50, nil); counts["broken"] != 50 {
		t.Errorf("%v: the last one was ejected", counts)
	}
}

// A healthy target that is ejected gets requests again as soon as there is no other, those that may not wait too.
func TestAnEjectedTargetIsBackWhenItIsTheOnlyOne(t *testing.T) {
	for _, maxWaiting := range []int{-1, 10} {
		s := newSite(t)
		var well atomic.Bool
		a := s.server(func(w http.ResponseWriter, _ *http.Request) {
			if !well.Load() {
				w.WriteHeader(http.StatusBadGateway)
			}
			_, _ = io.WriteString(w, "a")
		})
		b := s.named("b")
		apply := func(targets ...traffic.Target) {
			g := group("web", targets...)
			g.Algorithm, g.MaxWaiting, g.WaitTimeout = traffic.RoundRobin, maxWaiting, time.Second
			s.apply(toGroup(g))
		}
		apply(a, b)
		if counts := s.counted(20, nil); counts["a"] != 5 {
			t.Fatalf("%v: it was not ejected", counts)
		}
		well.Store(true)
		apply(a, in(b, traffic.Draining))
		if status, body := s.get(80, "/"); status != http.StatusOK || body != "a" {
			t.Errorf("%d may wait: %d %q", maxWaiting, status, body)
		}
	}
}

func TestATargetIsNotDrivenOutByErrorsThatAClientCanProvoke(t *testing.T) {
	s := newSite(t)
	touchy := s.server(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bug", http.StatusInternalServerError) })
	g := group("web", touchy, s.named("good"))
	g.Algorithm = traffic.RoundRobin
	s.apply(toGroup(g))
	if counts := s.counted(40, nil); counts["bug"] != 20 {
		t.Error(counts)
	}
}

func TestOnlyHealthyTargetsGetRequests(t *testing.T) {
	s := newSite(t)
	states := []traffic.Target{s.named("healthy"), in(s.named("initial"), traffic.Initial), in(s.named("unhealthy"), traffic.Unhealthy),
		in(s.named("draining"), traffic.Draining)}
	s.apply(toGroup(group("web", states...)))
	if counts := s.counted(40, nil); counts["healthy"] != 40 {
		t.Error(counts)
	}
}

func TestADrainingTargetKeepsWhatIsInFlightAndSaysWhenItIsDone(t *testing.T) {
	s := newSite(t)
	begun, finish := make(chan bool), make(chan bool)
	old := s.server(func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-finish
		_, _ = io.WriteString(w, "old")
	})
	s.apply(toGroup(group("web", old)))
	body := make(chan string)
	go func() {
		answer, err := http.Get("http://" + s.address(80))
		if err != nil {
			body <- err.Error()
			return
		}
		all, _ := io.ReadAll(answer.Body)
		body <- string(all)
	}()
	<-begun
	s.apply(toGroup(group("web", in(old, traffic.Draining), s.named("new"))))
	if counts := s.counted(20, nil); counts["new"] != 20 {
		t.Error(counts)
	}
	select {
	case id := <-s.drained:
		t.Fatal(id, "is drained while a request is in flight")
	default:
	}
	finish <- true
	if got := <-body; got != "old" {
		t.Errorf("what was in flight: %q", got)
	}
	if id := <-s.drained; id != old.ID {
		t.Error(id)
	}
}

// A host that changes to a server that lags behind sees a target as it was before it drained, and forgets that it has drained.
func TestATargetThatDrainsAgainIsToldOfAgain(t *testing.T) {
	s := newSite(t)
	target := s.named("a")
	for range 2 {
		s.apply(toGroup(group("web", in(target, traffic.Initial))))
		s.apply(toGroup(group("web", in(target, traffic.Draining))))
		select {
		case id := <-s.drained: // apply has called Drained
			if id != target.ID {
				t.Error(id)
			}
		default:
			t.Fatal("it is not told of")
		}
	}
}

func TestAffinity(t *testing.T) {
	cases := []struct {
		name     string
		affinity traffic.Affinity
		sign     func(r *http.Request, user string)
	}{
		{"header", traffic.Affinity{By: traffic.ByHeader, Name: "X-Session"}, func(r *http.Request, user string) { r.Header.Set("X-Session", user) }},
		{"body", traffic.Affinity{By: traffic.ByBody, Length: 8}, func(r *http.Request, user string) {
			r.Method, r.Body = http.MethodPost, io.NopCloser(strings.NewReader(user+"        "+time.Now().String()))
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			g := group("web", s.named("a"), s.named("b"), s.named("c"), s.named("d"))
			g.Affinity = &c.affinity
			s.apply(toGroup(g))
			reached := map[string]bool{}
			for user := range strings.SplitSeq("ann bob cid dan eve fay gus hal ida jon kim leo", " ") {
				counts := s.counted(10, func(r *http.Request) { c.sign(r, user) })
				if len(counts) != 1 {
					t.Errorf("%s: %v, want one target", user, counts)
				}
				for target := range counts {
					reached[target] = true
				}
			}
			if len(reached) < 2 {
				t.Errorf("all users are at %v", reached)
			}
		})
	}
}

func TestACookieLeadsBackToItsTarget(t *testing.T) {
	s := newSite(t)
	g := group("web", s.named("a"), s.named("b"), s.named("c"), s.named("d"))
	g.Affinity = &traffic.Affinity{By: traffic.ByCookie, Duration: time.Hour}
	s.apply(toGroup(g))
	answer, err := http.Get("http://" + s.address(80))
	if err != nil {
		t.Fatal(err)
	}
	first, cookies := read(t, answer.Body), answer.Cookies()
	if len(cookies) != 1 || cookies[0].Name != "AWSALB" || cookies[0].MaxAge != 3600 {
		t.Fatal(cookies)
	}
	if counts := s.counted(20, func(r *http.Request) { r.AddCookie(cookies[0]) }); counts[first] != 20 {
		t.Errorf("%v, want all at %s", counts, first)
	}
}

// A host that is lost has more targets than a request has attempts. None fails: the second attempt is at another host.
func TestARequestIsTriedAgainAtAnotherHost(t *testing.T) {
	s := newSite(t)
	targets := []traffic.Target{s.named("good")}
	for port := range 9 {
		targets = append(targets, traffic.Target{ID: fmt.Sprint("lost-", port), Address: fmt.Sprint("127.0.0.2:", port+1), State: traffic.Healthy})
	}
	s.apply(toGroup(group("web", targets...)))
	if counts := s.counted(20, nil); counts["good"] != 20 {
		t.Error(counts)
	}
}
