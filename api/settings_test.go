package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/accesskey"
)

func TestSettingsChangeWhileThePoolRuns(t *testing.T) {
	b := newFixture(t)
	if got := b.get("/v1/admin/settings").Body.String(); got != `{"servers":3,"replaceAfter":"5m0s","lostAfter":"1m0s"}` {
		t.Error(got)
	}
	if got := b.rest("admin/settings", `{"servers":5,"lostAfter":"2m"}`).Body.String(); got != `{"servers":5,"replaceAfter":"5m0s","lostAfter":"2m0s"}` {
		t.Error(got)
	}
	for _, wrong := range []string{`{}`, `{"servers":4}`, `{"lostAfter":"4s"}`, `{"replaceAfter":"-1m"}`, `{"replaceAfter":"soon"}`, `{"incarnation":7}`} {
		if got := b.rest("admin/settings", wrong); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", wrong, got.Code, got.Body)
		}
	}
	if has := b.state.View().Settings(); has.Servers != 5 || has.TaskLostAfter != 2*time.Minute || has.ReplaceAfter != 5*time.Minute {
		t.Errorf("%+v", has)
	}
}

// They are the pool's: neither a key that submits nor an administrator of one cluster may see or change them.
func TestSettingsAreForAdministratorsOfThePool(t *testing.T) {
	for _, key := range []accesskey.Key{{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}, {ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"}} {
		b := newFixture(t)
		bearer := b.withKey(t, key)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := httptest.NewRequest(method, "https://pinion/v1/admin/settings", strings.NewReader(`{"servers":1}`))
			if got := b.as(bearer, r); got.Code != http.StatusForbidden && got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "AccessDenied") {
				t.Errorf("%s %s: %d %s", key.ID, method, got.Code, got.Body)
			}
		}
		if b.state.View().Settings().Servers != 3 {
			t.Error("it was changed")
		}
	}
}
