package liveness

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

func TestAHostIsSentAwayFromAServerThatReachesNoLeader(t *testing.T) {
	now := day0
	r := forwarding{now: func() time.Time { return now }}
	if err := r.check("one"); err != nil {
		t.Fatal(err)
	}
	r.leaderFailed()
	if err := r.check("one"); err != nil {
		t.Errorf("at once, as in an election: %v", err)
	}
	now = now.Add(2 * leaderlessTimeout)
	if err := r.check("one"); !errors.Is(err, spec.ErrUnavailable) || !r.isCutOff() {
		t.Errorf("after a while: %v", err)
	}
	r.acknowledge([]string{"two"})
	if err := r.check("one"); err != nil {
		t.Errorf("when the leader is back: %v", err)
	}
	if err := r.check("two"); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a host that the leader does not know: %v", err)
	}
}

// follower is a server whose leader answers, and which may be elected.
type follower struct {
	state *raftfsm.State
	now   time.Time
	leads bool
}

func (f *follower) State() *raftfsm.State { return f.state }
func (f *follower) Now() time.Time        { return f.now }
func (f *follower) Leads() bool           { return f.leads }

// RoundTrip is the leader's answer to any call.
func (f *follower) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// A server that found no leader in an election is not cut off ever after: neither when it follows the elected one, though it has no host whose
// heartbeats it could forward, nor when it is elected. Its own agent would have no server to join once the others have left.
func TestAnElectionCutsNoServerOff(t *testing.T) {
	for name, end := range map[string]func(*Monitor, *follower){
		"it follows": func(m *Monitor, f *follower) { m.forwardOnce(t.Context(), f.now) },
		"it leads":   func(_ *Monitor, f *follower) { f.leads = true },
	} {
		t.Run(name, func(t *testing.T) {
			f := &follower{state: raftfsm.NewState(), now: day0}
			leader := ""
			m := New(f, slog.New(slog.DiscardHandler), rpc.NewLeaderTracker(func() (string, bool) { return leader, false }), &rpc.Client{HTTP: &http.Client{Transport: f}}, 4*time.Second)
			m.forwardOnce(t.Context(), f.now)
			f.now = f.now.Add(2 * leaderlessTimeout)
			if !m.LeaderUnreachable() {
				t.Fatal("a server without a leader is to be cut off")
			}
			leader = "leader:7400"
			end(m, f)
			if m.LeaderUnreachable() {
				t.Error("it is cut off")
			}
		})
	}
}
