package api

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// local is a follower's own copy of the state.
type local struct {
	view *raftfsm.View
	err  error
}

func (l local) StaleView() (*raftfsm.View, error) { return l.view, l.err }

func TestStaleReadsNeedNoLeader(t *testing.T) {
	b := changing(t, &hops{}, nobody)
	b.config.Stale = local{view: b.state.View()}
	for _, path := range []string{"/v1/hosts?stale=true", "/v1/gpus?stale=1"} {
		if got := b.get(path); got.Code != 200 || got.Header().Get("X-Pinion-Stale") != "true" || !strings.Contains(got.Body.String(), "gpu-1") {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	b.get("/v1/hosts").wantError(t, 500, "ServerException", noLeader)
	b.plain("ListClusters?stale=true", "{}").wantError(t, 500, "ServerException", noLeader)
	b.config.Trusted = false
	if got := b.get("/v1/hosts?stale=true"); got.Header().Get("X-Amzn-ErrorType") != "MissingAuthenticationTokenException" {
		t.Errorf("keys are asked for all the same: %d %s", got.Code, got.Body)
	}
	b.config.Trusted = true
	b.config.Stale = local{err: spec.ErrUnavailable} // an agent has no state: the leader answers
	b.get("/v1/hosts?stale=true").wantError(t, 500, "ServerException", noLeader)
}
