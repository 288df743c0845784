package rpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

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
