package api

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// stateChecksum is the response of GET /v1/admin/checksum.
type stateChecksum struct {
	Index  uint64
	SHA256 string
	Server bool
}

func checksumOf(t *testing.T, b *fixture) (sum stateChecksum) {
	t.Helper()
	got := b.get("/v1/admin/checksum")
	if got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if err := json.Unmarshal(got.Body.Bytes(), &sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestEqualStatesHaveEqualDigestsAndNoOthers(t *testing.T) {
	one, two := newFixture(t), newFixture(t)
	if a, b := checksumOf(t, one), checksumOf(t, two); a != b || !a.Server || len(a.SHA256) != 64 || a.Index != one.state.View().Index() {
		t.Errorf("equal states: %v and %v", a, b)
	}
	one.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "more"}})
	if a, b := checksumOf(t, one), checksumOf(t, two); a.SHA256 == b.SHA256 || a.Index <= b.Index {
		t.Errorf("one has a cluster more: %v and %v", a, b)
	}
}

func TestADigestIsOfThisHostsOwnState(t *testing.T) {
	b := newFollowerFixture(t, &fakeTransport{}, noLeaderNow)
	b.config.Local = fixedState{view: b.state.View()}
	if got := checksumOf(t, b); !got.Server { // there is no leader to ask
		t.Errorf("%v", got)
	}
	b.config.Local = fixedState{err: spec.ErrUnavailable}
	b.get("/v1/admin/checksum").wantError(t, 404, httpx.NotFound, "This host holds no state of the pool: it is an agent. Ask a server; `pinion hosts` lists them.")
	b.config.Local = fixedState{err: errors.New("the state is on fire")}
	if got := b.get("/v1/admin/checksum"); got.Code != 500 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestADigestIsForAdmins(t *testing.T) {
	b := newFixture(t)
	b.mustApply(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: "AKIAREADER", Secret: secret, Role: "reader", CreatedAt: epoch}}))
	b.config.Trusted = false
	r := httptest.NewRequest("GET", "/v1/admin/checksum", nil)
	r.Header.Set("Authorization", "Bearer AKIAREADER:"+secret)
	if got := b.serve(r); got.Code != 403 || got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestTheFormerPathOfTheChecksumStillAnswers(t *testing.T) {
	b := newFixture(t)
	former, now := b.get("/v1/admin/digest"), b.get("/v1/admin/checksum")
	if former.Code != 200 || former.Body.String() != now.Body.String() {
		t.Errorf("%d %s, want %s", former.Code, former.Body, now.Body)
	}
}
