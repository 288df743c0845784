package api

import (
	"testing"

	"pinion/raftfsm/spec"
)

// Who administers one cluster cannot take away what protects the hosts from its tasks.
func TestAKeyForOneClusterDoesNotDisableUserNamespaces(t *testing.T) {
	b := newFixture(t)
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	set := func(value string) string {
		return `{"cluster":"lab","settings":[{"name":"containerInsights","value":"enabled"},{"name":"userNamespaces","value":"` + value + `"}]}`
	}
	ask := func(cluster, operation, value string) int {
		return b.serveAs(t, spec.RoleAdmin, cluster, restRequest(operation, set(value))).Code
	}
	if got := ask("lab", "UpdateClusterSettings", "enabled"); got != 200 {
		t.Fatalf("enabling them: %d", got)
	}
	for _, operation := range []string{"UpdateClusterSettings", "UpdateCluster"} {
		if got := ask("lab", operation, "disabled"); got == 200 || !b.state.View().Cluster("lab").WantsUserNamespaces() {
			t.Errorf("%s disables them: %d", operation, got)
		}
		if got := ask("lab", operation, "enabled"); got != 200 {
			t.Errorf("%s changes nothing: %d", operation, got)
		}
	}
	if got := ask("", "UpdateClusterSettings", "disabled"); got != 200 || b.state.View().Cluster("lab").WantsUserNamespaces() {
		t.Errorf("a key for all clusters: %d", got)
	}
}
