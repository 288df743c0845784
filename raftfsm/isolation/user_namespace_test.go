package isolation

import (
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// The cluster and the operator of the host each say whether tasks run in user namespaces, and the stricter counts.
func TestTheStricterOfClusterAndHostCounts(t *testing.T) {
	hostNetwork := &spec.TaskDefinition{NetworkMode: "host"}
	privileged := asks.privileged
	for name, c := range map[string]struct {
		definition *spec.TaskDefinition
		cluster    bool
		host       spec.UserNamespaces
		want       string // what the refusal has in it
	}{
		"nobody wants them":                        {asks.nothing, false, spec.UserNamespacesAvailable, ""},
		"nobody wants them, and the host has none": {hostNetwork, false, "", ""},
		"the cluster wants them":                   {asks.nothing, true, spec.UserNamespacesAvailable, ""},
		"the host has none":                        {asks.nothing, true, "", "setting userNamespaces"},
		"the host's network":                       {hostNetwork, true, spec.UserNamespacesAvailable, "networkMode host"},
		"the host's network on a strict host":      {hostNetwork, false, spec.UserNamespacesRequired, "without --user-namespaces"},
		"the host's processes":                     {asks.hostPID, true, spec.UserNamespacesAvailable, "pidMode host"},
		"the host's messages":                      {asks.hostIPC, true, spec.UserNamespacesRequired, "ipcMode host"},
		"namespaces that its containers share":     {&spec.TaskDefinition{PIDMode: "task"}, true, spec.UserNamespacesAvailable, "pidMode"},
		"privileged":                               {privileged, true, spec.UserNamespacesAvailable, "container c is privileged"},
		"a capability, which stays inside":         {asks.capability("SYS_ADMIN"), true, spec.UserNamespacesRequired, ""},
		"a volume, whose files keep their ids":     {asks.mount("/data", false), true, spec.UserNamespacesRequired, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &spec.Host{Allow: everyPower, Volumes: volumeRoots, UserNamespaces: c.host}
			got := RequirementsOf(c.definition).Under(spec.ClusterRules{UserNamespaces: c.cluster}).RefusedBy(h, true)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	keys := map[string]bool{}
	for _, d := range []*spec.TaskDefinition{asks.nothing, hostNetwork, privileged} {
		for _, wanted := range []bool{true, false} {
			keys[RequirementsOf(d).Under(spec.ClusterRules{UserNamespaces: wanted}).Key(true)] = true
		}
	}
	if len(keys) != 6 {
		t.Errorf("questions with different answers have %d keys, want 6", len(keys))
	}
}

func TestAClusterSaysThatItWantsUserNamespaces(t *testing.T) {
	for value, want := range map[string]bool{"enabled": true, "disabled": false} {
		c := &spec.Cluster{Settings: []spec.Setting{{Name: "containerInsights", Value: "enabled"}, {Name: spec.SettingUserNamespaces, Value: value}}}
		if c.Rules().UserNamespaces != want {
			t.Errorf("%s: %t", value, !want)
		}
	}
	if (*spec.Cluster)(nil).Rules().UserNamespaces || (&spec.Cluster{}).Rules().UserNamespaces {
		t.Error("a cluster wants them that does not say so")
	}
}

// A task has images that its cluster allows, on every host and whoever runs it.
func TestATaskHasImagesThatItsClusterAllows(t *testing.T) {
	d := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "a", Image: "busybox"}, {Name: "b", Image: "evil.org/library/busybox"}}}
	keys := map[string]bool{}
	for policy, refused := range map[string]bool{"": false, "any": false, "docker.io/library": true, "docker.io,evil.org": false, "evil.org": true} {
		c := &spec.Cluster{Settings: []spec.Setting{{Name: spec.SettingAllowedImages, Value: policy}}}
		asks := RequirementsOf(d).Under(c.Rules())
		if got := asks.RefusedBy(&spec.Host{Allow: everyPower}, true); (got != "") != refused || refused && !strings.Contains(got, spec.SettingAllowedImages) {
			t.Errorf("%s: %q", policy, got)
		}
		keys[asks.Key(true)] = true
	}
	if len(keys) != 3 {
		t.Errorf("questions with different answers have %d keys, want 3", len(keys))
	}
}
