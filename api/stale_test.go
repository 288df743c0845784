package api

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// fixedState is a follower's own copy of the state.
type fixedState struct {
	view *raftfsm.View
	err  error
}

func (l fixedState) StaleView() (*raftfsm.View, error) { return l.view, l.err }

func TestStaleReadsNeedNoLeader(t *testing.T) {
	b := newFollowerFixture(t, &fakeTransport{}, noLeaderNow)
	b.config.Local = fixedState{view: b.state.View()}
	for _, path := range []string{"/v1/hosts?stale=true", "/v1/gpus?stale=1"} {
		if got := b.get(path); got.Code != 200 || got.Header().Get("X-Pinion-Stale") != "true" || !strings.Contains(got.Body.String(), "gpu-1") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	b.get("/v1/hosts?stale=maybe").wantError(t, 500, "ServerException", noLeader) // nobody knows yet who asks
	b.get("/v1/hosts").wantError(t, 500, "ServerException", noLeader)
	b.rest("ListClusters?stale=true", "{}").wantError(t, 500, "ServerException", noLeader)
	b.config.Trusted = false
	if got := b.get("/v1/hosts?stale=true"); got.Header().Get("X-Amzn-ErrorType") != "MissingAuthenticationTokenException" {
		t.Errorf("keys are asked for all the same: %d %s", got.Code, got.Body)
	}
	b.config.Trusted = true
	b.config.Local = fixedState{err: spec.ErrUnavailable} // an agent has no state: the leader answers
	b.get("/v1/hosts?stale=true").wantError(t, 500, "ServerException", noLeader)
}

func TestStaleIsTrueOrFalse(t *testing.T) {
	newFixture(t).get("/v1/hosts?stale=maybe").wantError(t, 400, invalid, `stale must be true or false, not "maybe".`)
}
