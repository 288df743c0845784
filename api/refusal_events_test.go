package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// What a host refuses is told to those who administer the whole pool, while it happens, and adds nothing to the state.
func TestRefusalsAreEventsForAdministrators(t *testing.T) {
	b := withEvents(newFixture(t))
	b.audited(t)
	b.config.Trusted = false
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	for _, key := range []accesskey.Key{{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}, {ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"}} {
		if got := b.as(b.withKey(t, key), httptest.NewRequest("GET", "/v1/events?type=refusal", nil)); got.Header().Get("X-Amzn-ErrorType") != "AccessDeniedException" {
			t.Errorf("%s: %d %s", key.ID, got.Code, got.Body)
		}
	}
	if got := b.as(admin, httptest.NewRequest("GET", "/v1/events?type=refusal&follow=false", nil)); got.Header().Get("X-Amzn-ErrorType") != invalid {
		t.Errorf("those that were: %d %s", got.Code, got.Body)
	}

	server := b.served(t)
	index := b.state.View().Index()
	refusals := openStream(t, server.URL+"/v1/events?type=refusal", "Authorization", admin)
	all := openStream(t, server.URL+"/v1/events", "Authorization", admin)
	for range 100 {
		b.as("Bearer AKIAADMIN:guess", httptest.NewRequest("GET", "/v1/hosts", nil))
	}
	if e := refusals.next(); e.kind != "refusal" || e.id != "" || !strings.Contains(e.data, `"operation":"GET /v1/hosts"`) || strings.Contains(e.data, "guess") {
		t.Errorf("%+v", e)
	}
	if now := b.state.View().Index(); now != index {
		t.Errorf("refusals have moved the state from %d to %d", index, now)
	}
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}})
	if e := all.next(); e.kind != "cluster" {
		t.Errorf("who did not ask for refusals is told %+v", e)
	}
}
