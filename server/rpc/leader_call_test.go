package rpc

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"pinion/raftfsm/spec"
)

// A call to the leader has one answer, whether the host that asks leads itself or reaches the leader by the path of the call.
func TestTheLeaderAnswersItselfAsItAnswersOthers(t *testing.T) {
	leads := true
	call := LeaderCall[string, string]{Path: "/peer/leader/greeting", Answer: func(_ context.Context, from, in string) (string, error) {
		if !leads {
			return "", spec.ErrNotLeader
		}
		return in + ", " + from, nil
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+call.Path, func(w http.ResponseWriter, r *http.Request) { call.Handler()(w, r, "h1") })
	leader := httptest.NewTLSServer(mux)
	defer leader.Close()
	for _, self := range []bool{true, false} {
		tracker := NewLeaderTracker(func() (string, bool) { return leader.Listener.Addr().String(), self })
		leadership := NewLeadership(t.Context(), tracker, &Client{HTTP: leader.Client()})
		if got, err := call.Do(t.Context(), leadership, "h1", "hello"); err != nil || got != "hello, h1" {
			t.Errorf("self %t: %q, %v", self, got, err)
		}
	}
	leads = false
	ended, end := context.WithCancel(t.Context())
	end()
	tracker := NewLeaderTracker(func() (string, bool) { return "here", true })
	if _, err := call.Do(t.Context(), NewLeadership(ended, tracker, nil), "h1", "hello"); err == nil {
		t.Error("a host that has left its pool is answered")
	}
}

// Of requests that may be large, one host has two read at once, and all together 64; small ones are heard meanwhile. Where the host does not lead none
// is read.
func TestFewLargeRequestsAreReadAtOnce(t *testing.T) {
	arrived, end := make(chan struct{}, 100), make(chan struct{})
	var notLeading error
	call := LeaderCall[string, string]{MaxBytes: 1 << 20, Leads: func() error { return notLeading }, Answer: func(_ context.Context, _, in string) (string, error) {
		if len(in) > maxHostCallBytes {
			arrived <- struct{}{}
			<-end
		}
		return in, nil
	}}
	handle := call.Handler()
	ask := func(from, in string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handle(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`"`+in+`"`)), from)
		return w
	}
	long, hosts := strings.Repeat("x", maxHostCallBytes+1), 0
	var held []chan *httptest.ResponseRecorder
	for ; hosts < maxLargeCalls/maxLargeCallsPerHost; hosts++ {
		from := string(rune('a' + hosts))
		for range maxLargeCallsPerHost {
			answer := make(chan *httptest.ResponseRecorder, 1)
			held = append(held, answer)
			go func() { answer <- ask(from, long) }()
			<-arrived
		}
		if w := ask(from, long); !strings.Contains(w.Body.String(), `"unavailable"`) {
			t.Fatalf("one more large request of a host is answered %d", w.Code)
		}
	}
	if w := ask("another", long); !strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("one more large request in all is answered %d", w.Code)
	}
	if w := ask("a", "small"); w.Code != http.StatusOK {
		t.Errorf("a small request is answered %d %s", w.Code, w.Body)
	}
	close(end)
	for _, answer := range held {
		if w := <-answer; w.Code != http.StatusOK {
			t.Errorf("a large request is answered %d %s", w.Code, w.Body)
		}
	}
	if w := ask("another", long); w.Code != http.StatusOK {
		t.Errorf("after them one is answered %d", w.Code)
	}
	notLeading = spec.ErrNotLeader
	w := httptest.NewRecorder()
	handle(w, httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(errors.New("it is read"))), "a")
	if !strings.Contains(w.Body.String(), spec.ErrNotLeader.Error()) {
		t.Errorf("where another host leads it is answered %s", w.Body)
	}
}
