package api

import (
	"strings"
	"testing"

	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// A capacity provider belongs to no cluster, so a key for one cluster can look at those that it may use, and change none.
func TestAKeyForOneClusterChangesNoCapacityProvider(t *testing.T) {
	b := newFixture(t)
	for _, operation := range []string{"CreateCapacityProvider", "UpdateCapacityProvider", "DeleteCapacityProvider"} {
		got := b.serveAs(t, accesskey.RoleAdmin, spec.DefaultCluster, restRequest(operation, `{}`))
		got.wantError(t, 403, wire.AccessDenied, got.message(t))
		if !strings.Contains(got.message(t), "may not do "+operation) {
			t.Errorf("%s", got.Body)
		}
	}
	for body, code := range map[string]int{`{}`: 200, `{"cluster":"lab"}`: 403} {
		if got := b.serveAs(t, accesskey.RoleRead, spec.DefaultCluster, restRequest("DescribeCapacityProviders", body)); got.Code != code {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}

func (r reply) message(t *testing.T) string {
	t.Helper()
	var refusal struct {
		Message string `json:"message"`
	}
	r.decode(t, &refusal)
	return refusal.Message
}
