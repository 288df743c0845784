package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/httpx"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// roundTrip is a way to other hosts.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silent is a way to hosts that take requests and do not answer, until ctx ends.
func silent(ctx context.Context) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
		case <-ctx.Done():
		}
		return nil, errDial
	}
}

// beside has a fixture be another host than the one that has its task.
func (b *fixture) beside(way http.RoundTripper) {
	b.config.HostID, b.config.Forward, b.config.Shared = followerID, way, NewShared()
}

// However many requests wait for a host that is silent, others are answered: those that wait hold nothing that others need, and there are so many for one
// host.
func TestAHostThatIsSilentKeepsNobodyElseOut(t *testing.T) {
	for name, path := range map[string]string{"logs": logPath, "pulls": "/v1/tasks/" + firstTask + "/pulls", "metrics": "/v1/hosts/" + hostID + "/metrics", "usage": "/v1/hosts/" + hostID + "/gpus/usage", "usage of all": "/v1/gpus/usage"} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			b := newLogFixture(t, nil)
			b.beside(silent(ctx))
			one, other := b.withKey(t, accesskey.Key{ID: "AKIAONE", Role: accesskey.RoleRead}), b.withKey(t, accesskey.Key{ID: "AKIAOTHER", Role: accesskey.RoleRead})
			handler, limits := NewHandler(b.config), b.config.Shared.limits
			var all sync.WaitGroup
			defer all.Wait()
			defer end()
			codes := make(chan int, 2000)
			for range 2000 {
				all.Go(func() {
					w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", path, nil)
					r.Header.Set("Authorization", one)
					serveHTTP(handler, w, r)
					codes <- w.Code
				})
			}
			for range 2000 - int(limits.Awaiting.PerHost)/2 {
				if code := <-codes; code != http.StatusServiceUnavailable {
					t.Fatalf("%d: one more than half of those that wait for one host", code)
				}
			}
			if _, free := limits.Awaiting.TryAcquire("another owner", hostID); !free {
				t.Error("another owner does not reach the host")
			}
			if got := b.as(other, httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))); got.Code != http.StatusOK {
				t.Errorf("another key: %d %s", got.Code, got.Body)
			}
			if held := limits.InFlight.Held(); held != 0 {
				t.Errorf("%d of those that wait count as worked on", held)
			}
			if _, free := limits.Lists.TryAcquire("AKIAONE"); !free {
				t.Error("those that wait count as lists that are put together")
			}
		})
	}
}

// A host that the leader has not heard of is asked all the same for how it is: its peer port may work, and nothing else says why it is not heard of.
func TestAHostThatIsNotConnectedIsExamined(t *testing.T) {
	b := newFixture(t)
	b.beside(roundTrip(func(*http.Request) (*http.Response, error) { return sends("[]") }))
	b.disconnected = map[string]bool{hostID: true}
	for _, path := range []string{"doctor", "upgrade"} {
		if got := b.get("/v1/admin/hosts/" + hostID + "/" + path); got.Code != http.StatusOK || got.Body.String() != "[]" {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// A host that the leader has not heard of is not asked for what its tasks write.
func TestAHostThatIsNotConnectedIsNotAsked(t *testing.T) {
	b := newLogFixture(t, nil)
	b.beside(roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("it is asked for %s", r.URL)
		return nil, errDial
	}))
	b.disconnected = map[string]bool{hostID: true}
	for _, path := range []string{logPath, "/v1/tasks/" + firstTask + "/pulls"} {
		if got := b.get(path); got.Code != http.StatusInternalServerError || !strings.Contains(got.Body.String(), "try again when it is back") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// One address leaves requests to work on for others, and two do.
func TestOneAddressHasAPartOfTheRequestsThatAreWorkedOn(t *testing.T) {
	b := newFixture(t)
	b.config.Shared = NewShared()
	for _, address := range []string{"192.0.2.8:1", "192.0.2.9:1"} {
		for held := true; held; {
			_, held = b.config.Shared.limits.InFlight.TryAcquire(address)
		}
	}
	for address, want := range map[string]int{"192.0.2.8:2": http.StatusServiceUnavailable, "192.0.2.7:1": http.StatusOK} {
		r := httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))
		r.RemoteAddr = address
		if got := b.serve(r); got.Code != want {
			t.Errorf("%s: %d %s", address, got.Code, got.Body)
		}
	}
}

// sends answers with a text.
func sends(text string) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// Metrics of a host in the wrong hands may be short as a text and long as what is read of it.
func TestAHostSendsMetricsWithinBounds(t *testing.T) {
	many := func(line string) string { return strings.Repeat(line, 8<<20/len(line)) }
	for name, c := range map[string]struct {
		text string
		code int
	}{
		"lines":   {many("a 1\n"), http.StatusInternalServerError},
		"labels":  {strings.Repeat(`a{b="",c="",d="",e="",f="",g="",h="",i="",j="",k=""} 1`+"\n", 45_000), http.StatusInternalServerError},
		"no text": {"{", http.StatusInternalServerError},
		"a few":   {"a{b=\"c\"} 1\n", http.StatusOK},
	} {
		b := ready(t)
		b.beside(roundTrip(func(*http.Request) (*http.Response, error) { return sends(c.text) }))
		if got := b.get("/v1/hosts/" + hostID + "/metrics"); got.Code != c.code || got.Body.Len() > 1<<10 {
			t.Errorf("%s: %d, %d bytes", name, got.Code, got.Body.Len())
		}
	}
}

// However many ask for the metrics of a host, it is asked once in a second, and each key sees its own.
func TestAHostIsAskedOnceForItsMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := ready(t)
		questions, answer := 0, make(chan string)
		b.beside(roundTrip(func(*http.Request) (*http.Response, error) {
			questions++
			return sends(<-answer)
		}))
		all, lab := b.withKey(t, accesskey.Key{ID: "AKIAALL", Role: accesskey.RoleRead}), b.withKey(t, accesskey.Key{ID: "AKIATEAM", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"mine"}}})
		handler := NewHandler(b.config)
		ask := func(bearer string) reply {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/v1/hosts/"+hostID+"/metrics", nil)
			r.Header.Set("Authorization", bearer)
			serveHTTP(handler, w, r)
			return reply{w}
		}
		var asking sync.WaitGroup
		for i := range 20 {
			asking.Go(func() {
				bearer, more := all, "of_theirs"
				if i%4 == 0 {
					bearer, more = lab, "of_mine"
				}
				if got := ask(bearer); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), more) || strings.Contains(got.Body.String(), "of_theirs") == (bearer == lab) {
					t.Errorf("%d %s", got.Code, got.Body)
				}
			})
		}
		synctest.Wait()
		answer <- "of_mine{cluster=\"default\",team=\"mine\"} 1\nof_theirs{cluster=\"default\",team=\"theirs\"} 1\n"
		asking.Wait()
		if ask(all); questions != 1 {
			t.Errorf("the host is asked %d times", questions)
		}
		time.Sleep(2 * time.Second)
		go func() { answer <- "later 1\n" }()
		if got := ask(all); !strings.Contains(got.Body.String(), "later") || questions != 2 {
			t.Errorf("later: %s, asked %d times", got.Body, questions)
		}
		time.Sleep(time.Minute) // until nothing of the last answer is kept
	})
}

// searchAs searches the log of a task for the name of an owner whom a server has authorized.
func searchAs(ctx context.Context, handler http.Handler, owner, query string) reply {
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", logPath+"?grep="+owner+query, nil)
	r.Header.Set(httpx.HeaderAuthorizedBy, followerID)
	r.Header.Set(httpx.HeaderOwner, owner)
	serveHTTP(handler, w, r)
	return reply{w}
}

// Of the logs of a host few are searched at once, for one owner fewer; the others wait for their turn. Neither a client that reads slowly nor one that
// follows has a turn meanwhile.
func TestSearchesOfLogsAreFewAtOnce(t *testing.T) {
	const wantLine = `{"time":"2026-01-02T03:04:05.678Z","container":"tensorflow-gpu","stream":"stdout","text":"found"}` + "\n"
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, searched := map[string]int{}, make(chan struct{})
		b := newLogFixture(t, func(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
			mu.Lock()
			running[q.Grep]++
			mu.Unlock()
			<-searched
			err := emit(line("found"))
			if q.Mark {
				err = errors.Join(err, emit(spec.LogLine{}))
				<-ctx.Done()
			}
			return err
		})
		b.config.Shared = NewShared()
		handler := peerHandler(b, selfLeads)
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		search := func(owner, query string) {
			all.Go(func() {
				if got := searchAs(ctx, handler, owner, query); got.Body.String() != wantLine || got.Code != http.StatusOK {
					t.Errorf("%s: %d %q", owner, got.Code, got.Body)
				}
			})
		}
		for range 10 {
			search("one", "")
			synctest.Wait()
		}
		for range 10 {
			search("two", "")
			search("three", "")
		}
		synctest.Wait()
		mu.Lock()
		if running["one"] != 4 || running["two"]+running["three"] != 4 {
			t.Errorf("searched at once: %v", running)
		}
		mu.Unlock()
		close(searched)
		all.Wait()
		for range 10 {
			search("one", "&follow=1")
			search("two", "&follow=1")
		}
		synctest.Wait()
		mu.Lock()
		if running["one"] != 20 || running["two"] != 20 || running["three"] != 10 {
			t.Errorf("those who follow keep others from their turn: %v", running)
		}
		mu.Unlock()
		end()
		all.Wait()
	})
}

// Not only a pattern makes a host read a whole log for a line: so does an end, and a tail of lines that continue others.
func TestWhateverSearchesALogTakesAPlace(t *testing.T) {
	for _, query := range []string{"grep=x", "until=2099-01-01T00:00:00Z", "tail=1", "tail=1&until=2099-01-01T00:00:00Z", "tail=1&follow=1"} {
		synctest.Test(t, func(t *testing.T) {
			running, read := new(atomic.Int32), make(chan struct{})
			b := newLogFixture(t, func(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
				running.Add(1)
				<-read
				return emit(line("found"))
			})
			b.config.Shared = NewShared()
			handler := peerHandler(b, selfLeads)
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", logPath+"?"+query, nil)
					r.Header.Set(httpx.HeaderAuthorizedBy, followerID)
					r.Header.Set(httpx.HeaderOwner, "one")
					if handler.ServeHTTP(w, r); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "found") {
						t.Errorf("%s: %d %q", query, w.Code, w.Body)
					}
				})
			}
			synctest.Wait()
			if n := running.Load(); n != 4 {
				t.Errorf("%s: %d at once for one owner", query, n)
			}
			close(read)
			all.Wait()
		})
	}
}
