package api

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pinion/api/httpx"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
)

// newAdminFixture is a bench with everything that operators can do.
func newAdminFixture(t testing.TB) (*fixture, *fakeAdmin) {
	b := newFixture(t)
	k := &fakeAdmin{fakeStore: b.fakeStore}
	b.config.Admin = rest.Admin{JoinTokens: k, Hosts: k, Snapshots: k}
	return b, k
}

func TestOperatorsChangeHostsAndTokens(t *testing.T) {
	b, k := newAdminFixture(t)
	if got := b.rest("admin/tokens", `{"ttl":"1h","uses":3,"role":"host"}`); got.Code != 200 || got.Body.String() != `{"token":"pinion1.ca.id.secret","join":"gpu-1:7400"}` {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for path, body := range map[string]string{
		"admin/tokens":        ``,
		"admin/tokens/revoke": `{"id":"id"}`,
		"admin/hosts/promote": `{"host":"` + hostID + `"}`,
		"admin/hosts/demote":  `{"host":"` + hostID + `"}`,
		"admin/hosts/remove":  `{"host":"` + hostID + `","force":true}`,
	} {
		if got := b.rest(path, body); got.Code != 200 {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	slices.Sort(k.calls)
	want := []string{"demote " + hostID, "promote " + hostID, "remove " + hostID + " true", "revoke id", "token 0s 0 ", "token 1h0m0s 3 host"}
	if !slices.Equal(k.calls, want) {
		t.Errorf("got  %q\nwant %q", k.calls, want)
	}
	b.rest("admin/hosts/reboot", `{"host":"`+hostID+`"}`).wantError(t, 404, httpx.NotFound, "There is no /v1/admin/hosts/reboot: hosts can be changed with remove, promote and demote.")
	b.rest("admin/hosts/remove", `{"host":"nope"}`).wantError(t, 404, httpx.NotFound, `There is no host with the id "nope".`)
	b.rest("admin/tokens", `{"ttl":"soon"}`).wantError(t, 400, invalid, `ttl must be a duration such as 30m or 24h, not "soon".`)
	b.rest("admin/tokens", `{"uses":0}`).wantError(t, 400, invalid, "uses must be a number of hosts from 1, not 0.")
	b.rest("admin/tokens", `{"role":"server"}`).wantError(t, 400, invalid, `role must be host, or agent for hosts that never become servers, not "server".`)
	if got := b.rest("admin/tokens", `{"cluster":"a/b"}`); got.Code != 400 {
		t.Errorf("a token for the cluster a/b: %d %s", got.Code, got.Body)
	}
	b.rest("admin/tokens", `{"uses":-1}`).wantError(t, 400, invalid, "uses must be a number of hosts from 1, not -1.")
}

func TestASnapshotIsSentWholeOrBreaksOff(t *testing.T) {
	b, k := newAdminFixture(t)
	if got := b.get("/v1/admin/snapshot"); got.Body.String() != "the whole state" || got.Header().Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	k.err = errors.New("disk on fire")
	server := httptest.NewServer(NewHandler(b.config))
	defer server.Close()
	if response, err := http.Get(server.URL + "/v1/admin/snapshot"); err == nil {
		response.Body.Close()
		t.Errorf("%v", response)
	}
}

func TestWhatThisHostHasNoMeansForIsRefusedInWords(t *testing.T) {
	b := newFixture(t)
	b.config.Admin = rest.Admin{}
	for path, what := range map[string]string{
		"admin/tokens": "making join tokens", "admin/tokens/revoke": "revoking join tokens", "admin/hosts/remove": "changing hosts",
	} {
		b.rest(path, "").wantError(t, 400, "ClientException", "pinion: "+what+" is not supported here: this pinion serves one host that is not part of a pool.")
	}
	b.get("/v1/admin/snapshot").wantError(t, 400, "ClientException", "pinion: saving snapshots is not supported here: this pinion serves one host that is not part of a pool.")
	b.aws("DeregisterContainerInstance", `{"containerInstance":"`+hostID+`"}`).wantError(t, 400, "ClientException",
		"pinion: DeregisterContainerInstance is not supported here: this pinion serves one host, which cannot be removed from itself")
}

func TestOnlyAdminsAreOperators(t *testing.T) {
	b, k := newAdminFixture(t)
	b.mustApply(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: "AKIAREADER", Secret: secret, Role: "reader", CreatedAt: epoch}}))
	b.config.Trusted = false
	for _, r := range []*http.Request{
		httptest.NewRequest("POST", "/v1/admin/hosts/remove", strings.NewReader(`{"host":"`+hostID+`"}`)),
		httptest.NewRequest("GET", "/v1/admin/snapshot", nil), httptest.NewRequest("GET", "/v1/admin/tokens", nil),
	} {
		r.Header.Set("Authorization", "Bearer AKIAREADER:"+secret)
		if got := b.serve(r); got.Code != 403 || got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied || !strings.Contains(got.message(t), "the role admin") {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	if len(k.calls) > 0 {
		t.Errorf("%q", k.calls)
	}
}
