package api

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/api/client"
	"pinion/api/rest"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// fakeDoctor is what a host finds on its machine.
type fakeDoctor struct {
	found   []rest.Finding
	waits   chan struct{} // nil: it takes no time
	started chan struct{}
}

func (d *fakeDoctor) Examine(context.Context) []rest.Finding {
	if d.waits != nil {
		close(d.started)
		<-d.waits
	}
	return d.found
}

// Each host checks its own machine, wherever the client asks.
func TestAHostChecksItsMachineForAnAdministrator(t *testing.T) {
	p, _, _ := usagePool(t)
	p.leader.doctor.found = []rest.Finding{{Check: "kernel", Level: "ok", Found: "Linux 6.1"}}
	p.other.doctor.found = []rest.Finding{{Check: "disk room", Level: "failed", Found: "1 GiB is free", Do: "remove images"}}
	admin := p.leader.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	for id, want := range map[string]client.Finding{hostID: {Check: "kernel", Level: "ok", Found: "Linux 6.1"}, followerID: {Check: "disk room", Level: "failed", Found: "1 GiB is free", Do: "remove images"}} {
		var found []client.Finding
		got := send(t, "GET", p.follower.URL+"/v1/admin/hosts/"+id+"/doctor", "", "Authorization", admin)
		if got.decode(t, &found); got.Code != 200 || len(found) != 1 || found[0] != want {
			t.Errorf("host %s: %d %s", id, got.Code, got.Body)
		}
	}
	if got := send(t, "GET", p.follower.URL+"/v1/admin/hosts/nope/doctor", "", "Authorization", admin); got.Code != 404 {
		t.Errorf("a host that is not there: %d %s", got.Code, got.Body)
	}
}

func TestTheMachineOfAHostIsNoBusinessOfOthers(t *testing.T) {
	b := ready(t)
	b.config.Trusted = false
	b.doctor.found = []rest.Finding{{Check: "data directory", Level: "warning", Found: "/srv/secret"}}
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	for name, key := range map[string]accesskey.Key{
		"a key that may read": {ID: "AKIAREAD", Role: accesskey.RoleRead}, "a key that may submit": {ID: "AKIASUBMIT", Role: accesskey.RoleSubmit},
		"an administrator of another cluster": {ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"},
	} {
		got := b.as(b.withKey(t, key), httptest.NewRequest("GET", "/v1/admin/hosts/"+hostID+"/doctor", nil))
		if got.Code == 200 || strings.Contains(got.Body.String(), "secret") {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

func TestAMachineIsCheckedForOneAtATime(t *testing.T) {
	b := ready(t)
	b.doctor.waits, b.doctor.started = make(chan struct{}), make(chan struct{})
	handler := NewHandler(b.config)
	ask := func() int {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest("GET", "/v1/admin/hosts/"+hostID+"/doctor", nil))
		return recorder.Code
	}
	first := make(chan int)
	go func() { first <- ask() }()
	<-b.doctor.started
	if code := ask(); code != 503 {
		t.Errorf("the second: %d", code)
	}
	close(b.doctor.waits)
	if code := <-first; code != 200 {
		t.Errorf("the first: %d", code)
	}
}
