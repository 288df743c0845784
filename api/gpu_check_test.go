package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/api/client"
	"pinion/raftfsm/accesskey"
)

// Only an administrator of the whole pool has hosts check, reset or forget their GPUs. What the host refuses is the caller's mistake.
func TestChecksOfGPUsAreForAdministrators(t *testing.T) {
	b := ready(t)
	var gpus []client.GPU
	b.as(b.withKey(t, accesskey.Key{ID: "AKIAREAD", Role: accesskey.RoleRead}), httptest.NewRequest("GET", "/v1/gpus", nil)).decode(t, &gpus)
	change := func(bearer, verb, uuid string) reply {
		return b.as(bearer, httptest.NewRequest("POST", "/v1/admin/gpus/"+uuid+"/"+verb, nil))
	}
	for _, who := range []accesskey.Key{{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}, {ID: "AKIAOTHER", Role: accesskey.RoleAdmin, Cluster: "other"}} {
		bearer := b.withKey(t, who)
		for _, verb := range []string{"check", "reset", "forget"} {
			if got := change(bearer, verb, gpus[0].UUID); got.Code != 403 {
				t.Errorf("%s may %s: %d %s", who.ID, verb, got.Code, got.Body)
			}
		}
	}
	admin := b.withKey(t, accesskey.Key{ID: "AKIAADMIN", Role: accesskey.RoleAdmin})
	if got := change(admin, "forget", gpus[0].UUID); got.Code != 400 || !strings.Contains(got.Body.String(), "the driver lists it") {
		t.Errorf("a GPU that is there: %d %s", got.Code, got.Body)
	}
	if got := change(admin, "forget", "GPU-nowhere"); got.Code != 404 {
		t.Errorf("no GPU: %d %s", got.Code, got.Body)
	}
}
