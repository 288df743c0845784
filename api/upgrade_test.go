package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pinion/api/httpx"
	"pinion/api/upgrade"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// fakeRemote is a host that notes what it is asked for.
type fakeRemote struct {
	mu    sync.Mutex
	asked []upgrade.Request
	back  int
	err   error
}

func (f *fakeRemote) Status() (upgrade.Status, error) {
	return upgrade.Status{Running: upgrade.Release{Version: "1.2.3", Digest: imageDigest}, Keys: []string{"RWkey"}}, nil
}

func (f *fakeRemote) Begin(r upgrade.Request, back bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if back {
		f.back++
	}
	f.asked = append(f.asked, r)
	return f.err
}

func (f *fakeRemote) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// goodUpgrade is a request that a host takes.
func goodUpgrade() upgrade.Request {
	return upgrade.Request{ID: "A1", Timeout: 60, Image: "pinion.invalid/upgrade:1", Digest: imageDigest, Program: imageDigest, Signature: "untrusted comment: x\n"}
}

func text(t testing.TB, r upgrade.Request) string {
	t.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func upgradePath(host string) string { return "/v1/admin/hosts/" + host + "/upgrade" }

// The request goes to the host that it is about, with its body, whichever host is asked; that host decides on the rest.
func TestAHostIsUpgradedForAnAdministrator(t *testing.T) {
	p, _, _ := usagePool(t)
	admin := p.leader.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	for host, remote := range map[string]*fakeRemote{hostID: p.leader.upgrades, followerID: p.other.upgrades} {
		var status upgrade.Status
		got := send(t, "POST", p.follower.URL+upgradePath(host), text(t, goodUpgrade()), "Authorization", admin)
		if got.decode(t, &status); got.Code != 200 || status.Running.Version != "1.2.3" || len(status.Keys) != 1 {
			t.Errorf("%s: %d %s", host, got.Code, got.Body)
		}
		if remote.count() != 1 || !reflect.DeepEqual(remote.asked[0], goodUpgrade()) {
			t.Errorf("%s was asked for %+v", host, remote.asked)
		}
		if got := send(t, "POST", p.follower.URL+upgradePath(host)+"/rollback", `{"id":"B1","timeout":60}`, "Authorization", admin); got.Code != 200 || remote.back != 1 {
			t.Errorf("%s, rollback: %d %s", host, got.Code, got.Body)
		}
		if got := send(t, "GET", p.follower.URL+upgradePath(host), "", "Authorization", admin); got.Code != 200 {
			t.Errorf("%s, status: %d %s", host, got.Code, got.Body)
		}
	}
	p.other.upgrades.err = upgrade.ErrBusy
	if got := send(t, "POST", p.follower.URL+upgradePath(followerID), text(t, goodUpgrade()), "Authorization", admin); got.Code != 400 || !strings.Contains(got.Body.String(), "pinion upgrade status") {
		t.Errorf("a host that is busy: %d %s", got.Code, got.Body)
	}
	if got := send(t, "POST", p.follower.URL+upgradePath("nope"), text(t, goodUpgrade()), "Authorization", admin); got.Code != 404 {
		t.Errorf("a host that is not there: %d %s", got.Code, got.Body)
	}
}

// Nobody but an administrator of the whole pool upgrades a host or reads how that went: no other role, no key of one cluster.
func TestUpgradesAreForAdministratorsOfTheWholePool(t *testing.T) {
	b := ready(t)
	b.config.Trusted = false
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	for name, key := range map[string]accesskey.Key{
		"may read": {ID: "AKIAREAD", Role: accesskey.RoleRead}, "may submit": {ID: "AKIASUBMIT", Role: accesskey.RoleSubmit},
		"administers a cluster": {ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"},
	} {
		bearer := b.withKey(t, key)
		for _, r := range []*http.Request{
			httptest.NewRequest("GET", upgradePath(hostID), nil), httptest.NewRequest("POST", upgradePath(hostID), strings.NewReader(text(t, goodUpgrade()))),
			httptest.NewRequest("POST", upgradePath(hostID)+"/rollback", strings.NewReader(`{"id":"B1","timeout":60}`)),
		} {
			if got := b.as(bearer, r); got.Code != 403 {
				t.Errorf("a key that %s: %s %s: %d %s", name, r.Method, r.URL, got.Code, got.Body)
			}
		}
	}
	if got := b.serve(httptest.NewRequest("POST", upgradePath(hostID), strings.NewReader(text(t, goodUpgrade())))); got.Code == 200 || b.upgrades.count() > 0 {
		t.Errorf("nobody: %d, asked %d times", got.Code, b.upgrades.count())
	}
}

// Root of an agent, with its socket or its host's certificate, upgrades no host: neither another one nor, over the network, its own.
func TestAnAgentUpgradesNobody(t *testing.T) {
	p, _ := newAgent(t)
	for _, host := range []string{hostID, followerID} {
		for name, credentials := range map[string][]string{"its socket": nil, "its key": {"Authorization", "Bearer " + agentKeyID + ":" + secret}} {
			if got := send(t, "POST", p.socket.URL+upgradePath(host), text(t, goodUpgrade()), credentials...); got.Code != 403 {
				t.Errorf("%s, host %s: %d %s", name, host, got.Code, got.Body)
			}
		}
		for name, header := range map[string][]string{"authorized by itself": {httpx.HeaderAuthorizedBy, followerID}, "by the leader": {httpx.HeaderAuthorizedBy, hostID}, "nobody": {"X-None", ""}} {
			if got := sendTo(t, p.peer, upgradePath(host), text(t, goodUpgrade()), header...); got.Code == 200 {
				t.Errorf("%s, host %s: %d %s", name, host, got.Code, got.Body)
			}
		}
	}
	if n := p.leader.upgrades.count() + p.other.upgrades.count(); n > 0 {
		t.Errorf("hosts were asked %d times", n)
	}
}

// What no host can do is refused before anything is begun.
func TestWhatIsNoUpgradeIsRefused(t *testing.T) {
	b := ready(t)
	change := func(f func(*upgrade.Request)) string {
		r := goodUpgrade()
		f(&r)
		return text(t, r)
	}
	for name, body := range map[string]string{
		"no id":              change(func(r *upgrade.Request) { r.ID = "" }),
		"an id with a path":  change(func(r *upgrade.Request) { r.ID = "../a" }),
		"a long id":          change(func(r *upgrade.Request) { r.ID = strings.Repeat("a", 65) }),
		"no time":            change(func(r *upgrade.Request) { r.Timeout = 0 }),
		"a day":              change(func(r *upgrade.Request) { r.Timeout = 86400 }),
		"no image":           change(func(r *upgrade.Request) { r.Image = "" }),
		"no signature":       change(func(r *upgrade.Request) { r.Signature = "" }),
		"many problems":      change(func(r *upgrade.Request) { r.Problems = make([]string, upgrade.MaxProblems+1) }),
		"a long problem":     change(func(r *upgrade.Request) { r.Problems = []string{strings.Repeat("a", upgrade.MaxProblem+1)} }),
		"half a digest":      change(func(r *upgrade.Request) { r.Digest = "sha256:12" }),
		"another algorithm":  change(func(r *upgrade.Request) { r.Program = "sha512:" + strings.Repeat("1", 128) }),
		"an unknown member":  `{"id":"A1","timeout":60,"force":true}`,
		"what is no request": `[]`,
	} {
		if got := b.serve(httptest.NewRequest("POST", upgradePath(hostID), strings.NewReader(body))); got.Code != 400 {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	if got := b.serve(httptest.NewRequest("POST", upgradePath(hostID)+"/rollback", strings.NewReader(text(t, goodUpgrade())))); got.Code != 400 {
		t.Errorf("a rollback to an image: %d %s", got.Code, got.Body)
	}
	if b.upgrades.count() > 0 {
		t.Errorf("the host was asked for %+v", b.upgrades.asked)
	}
}

// A server says how much of the pool's log is in its state; an agent, which has none, says nothing.
func TestAServerSaysHowFarItsStateIs(t *testing.T) {
	b := ready(t)
	b.config.Trusted = true
	for name, c := range map[string]struct {
		local fixedState
		want  *uint64
	}{
		"a server": {fixedState{view: b.state.View()}, new(b.state.View().Index())},
		"an agent": {fixedState{err: spec.ErrNotLeader}, nil},
	} {
		b.config.Local = c.local
		var status upgrade.Status
		got := b.serve(httptest.NewRequest("GET", upgradePath(hostID), nil))
		if got.decode(t, &status); got.Code != 200 || !reflect.DeepEqual(status.Applied, c.want) {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}
