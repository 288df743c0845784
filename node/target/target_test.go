package target

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/raftfsm/traffic"
)

func groupOf(address string, check traffic.HealthCheck) traffic.Routing {
	id := traffic.TargetID{Group: "g", Task: "t", Container: "web", Port: 80}.String()
	return traffic.Routing{Groups: []traffic.Group{{ID: "g", Protocol: traffic.HTTP, Health: check, Targets: []traffic.Target{{ID: id, Address: address, State: traffic.Initial}}}}}
}

// The finding of one check, by the answer of the target.
func TestOneCheck(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hangs":
			<-release
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/query":
			w.WriteHeader(map[string]int{"a=b": 200}[r.URL.RawQuery])
		}
	}))
	defer server.Close()
	defer close(release)
	address := strings.TrimPrefix(server.URL, "http://")
	for name, c := range map[string]struct {
		address string
		check   traffic.HealthCheck
		reason  string
	}{
		"answers":             {address, traffic.HealthCheck{Protocol: traffic.HTTP}, ""},
		"path with a query":   {address, traffic.HealthCheck{Protocol: traffic.HTTP, Path: "/query?a=b"}, ""},
		"another code":        {address, traffic.HealthCheck{Protocol: traffic.HTTP, Path: "/moved"}, reasonMismatch},
		"a code that is fine": {address, traffic.HealthCheck{Protocol: traffic.HTTP, Path: "/moved", Matcher: "200,300-399"}, ""},
		"no answer in time":   {address, traffic.HealthCheck{Protocol: traffic.HTTP, Path: "/hangs", Timeout: 50 * time.Millisecond}, reasonTimeout},
		"nobody listens":      {"127.0.0.1:1", traffic.HealthCheck{Protocol: traffic.HTTP}, reasonFailed},
		"TCP":                 {address, traffic.HealthCheck{Protocol: traffic.TCP}, ""},
		"TCP, nobody listens": {"127.0.0.1:1", traffic.HealthCheck{Protocol: traffic.TCP}, reasonFailed},
	} {
		if c.check.Timeout == 0 {
			c.check.Timeout = 30 * time.Second
		}
		k := &check{address: c.address, health: c.check}
		if passed, reason, detail := k.once(t.Context()); passed != (c.reason == "") || reason != c.reason {
			t.Errorf("%s: %t %s %s", name, passed, reason, detail)
		}
	}
}

// A target is healthy with its first success, unhealthy after so many failures in a row, and healthy again after so many successes.
func TestATargetFollowsItsThresholds(t *testing.T) {
	var fails atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if fails.Load() {
			w.WriteHeader(500)
		}
	}))
	defer server.Close()
	found := make(chan traffic.TargetHealth)
	c := New(func(_ string, h traffic.TargetHealth) { found <- h })
	check := traffic.HealthCheck{Protocol: traffic.HTTP, Interval: time.Millisecond, Timeout: time.Minute, HealthyThreshold: 3, UnhealthyThreshold: 2}
	c.Apply(t.Context(), groupOf(strings.TrimPrefix(server.URL, "http://"), check), func(task string) bool { return task == "t" })
	for i, want := range []traffic.TargetState{traffic.Healthy, traffic.Unhealthy, traffic.Healthy} {
		h := <-found
		if h.State != want || h.Group != "g" || h.Container != "web" || h.Port != 80 {
			t.Fatalf("%d: %+v", i, h)
		}
		fails.Store(i == 0)
	}
	c.Apply(t.Context(), traffic.Routing{}, nil)
	c.Wait()
}

// Only the tasks of this host are checked, and a group without checks has healthy targets.
func TestWhatIsChecked(t *testing.T) {
	found := make(chan string, 1)
	c := New(func(task string, h traffic.TargetHealth) { found <- fmt.Sprint(task, " ", h.State) })
	c.Apply(t.Context(), groupOf("127.0.0.1:1", traffic.HealthCheck{Disabled: true}), func(string) bool { return false })
	c.Wait()
	if len(found) > 0 {
		t.Fatal("the task of another host is checked")
	}
	c.Apply(t.Context(), groupOf("127.0.0.1:1", traffic.HealthCheck{Disabled: true}), func(string) bool { return true })
	if got := <-found; got != "t healthy" {
		t.Error(got)
	}
}

func TestMatchers(t *testing.T) {
	for _, c := range []struct {
		matcher string
		version traffic.Version
		code    int
		want    bool
	}{
		{"", traffic.HTTP1, 200, true}, {"", traffic.HTTP1, 204, false}, {"", traffic.GRPC, 12, true}, {"0-99", traffic.GRPC, 0, true},
		{"200,202", traffic.HTTP1, 202, true}, {"200-299, 401", traffic.HTTP1, 401, true}, {"200-299", traffic.HTTP1, 300, false}, {"x", traffic.HTTP1, 200, false},
	} {
		if got := matches(c.matcher, c.version, c.code); got != c.want {
			t.Errorf("%q %d: %t", c.matcher, c.code, got)
		}
	}
}

// A container that answers with headers without end is not healthy, and is given up at the bound.
func TestTheHeadOfAnAnswerIsBounded(t *testing.T) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", map[string]int{"/long": 2 * maxHead, "/short": maxHead / 2}[r.URL.Path]))
	}))
	server.Config.Protocols = protocols
	server.Start()
	defer server.Close()
	for _, version := range []traffic.Version{"", traffic.HTTP2} {
		for path, want := range map[string]string{"/short": "", "/long": reasonFailed} {
			health := traffic.HealthCheck{Protocol: traffic.HTTP, Path: path, Timeout: 30 * time.Second}
			k := &check{address: strings.TrimPrefix(server.URL, "http://"), version: version, health: health}
			if _, reason, detail := k.once(t.Context()); reason != want {
				t.Errorf("version %q, %s: %q %s, want %q", version, path, reason, detail, want)
			}
		}
	}
}
