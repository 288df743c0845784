package api

import (
	"testing"

	"pinion/raftfsm/accesskey"
)

// Who administers one cluster cannot take away what protects the hosts from its tasks.
func TestAKeyForOneClusterDoesNotDisableUserNamespaces(t *testing.T) {
	b := newFixture(t)
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	set := func(value string) string {
		return `{"cluster":"lab","settings":[{"name":"containerInsights","value":"enabled"},{"name":"userNamespaces","value":"` + value + `"}]}`
	}
	ask := func(cluster, operation, value string) int {
		return b.serveAs(t, accesskey.RoleAdmin, cluster, restRequest(operation, set(value))).Code
	}
	if got := ask("lab", "UpdateClusterSettings", "enabled"); got != 200 {
		t.Fatalf("enabling them: %d", got)
	}
	for _, operation := range []string{"UpdateClusterSettings", "UpdateCluster"} {
		if got := ask("lab", operation, "disabled"); got == 200 || !b.state.View().Cluster("lab").Rules().UserNamespaces {
			t.Errorf("%s disables them: %d", operation, got)
		}
		if got := ask("lab", operation, "enabled"); got != 200 {
			t.Errorf("%s changes nothing: %d", operation, got)
		}
	}
	if got := ask("", "UpdateClusterSettings", "disabled"); got != 200 || b.state.View().Cluster("lab").Rules().UserNamespaces {
		t.Errorf("a key for all clusters: %d", got)
	}
}

// Nor which images they may have.
func TestAKeyForOneClusterDoesNotChangeTheImagesThatItAllows(t *testing.T) {
	b := newFixture(t)
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	ask := func(cluster, operation, value string) int {
		return b.serveAs(t, accesskey.RoleAdmin, cluster, restRequest(operation, `{"cluster":"lab","settings":[{"name":"allowedImages","value":"`+value+`"}]}`)).Code
	}
	if got := ask("", "UpdateClusterSettings", "registry.example.com/team"); got != 200 {
		t.Fatal(got)
	}
	for _, operation := range []string{"UpdateClusterSettings", "UpdateCluster"} {
		for _, value := range []string{"any", "docker.io", "registry.example.com", "registry.example.com/team,evil.org"} {
			if got := ask("lab", operation, value); got == 200 || b.state.View().Cluster("lab").Rules().AllowedImages != "registry.example.com/team" {
				t.Errorf("%s sets it to %s: %d", operation, value, got)
			}
		}
		if got := ask("lab", operation, "registry.example.com/team"); got != 200 {
			t.Errorf("%s changes nothing: %d", operation, got)
		}
	}
	if got := ask("", "UpdateClusterSettings", "any"); got != 200 || b.state.View().Cluster("lab").Rules().AllowedImages.Restricts() {
		t.Errorf("a key for all clusters: %d", got)
	}
}
