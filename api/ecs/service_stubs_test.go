package ecs

import "testing"

// Clients look for services before they do something else: where there are none, that is no fault.
func TestWhatDoesNotExistHereIsMissing(t *testing.T) {
	b := newFixture(t)
	for _, c := range []struct{ operation, body, want string }{
		{"ListServices", `{"launchType":"EC2"}`, `{"serviceArns":[]}`},
		{"DescribeServices", `{"services":["web"]}`, `{"services":[],"failures":[{"arn":"` + arnPrefix + `service/default/web","reason":"MISSING"}]}`},
		{"DescribeServiceDeployments", `{"serviceDeploymentArns":["a"]}`, `{"serviceDeployments":[],"failures":[{"arn":"a","reason":"MISSING"}]}`},
		{"DescribeServiceRevisions", `{"serviceRevisionArns":["a"]}`, `{"serviceRevisions":[],"failures":[{"arn":"a","reason":"MISSING"}]}`},
	} {
		if got := b.must(t, c.operation, c.body).Body.String(); got != c.want {
			t.Errorf("%s: %s", c.operation, got)
		}
	}
	b.call("ListServices", `{"cluster":"nope"}`).wantError(t, noCluster, "Cluster not found.")
	b.call("DescribeServices", `{}`).wantError(t, invalid, "Services cannot be empty.")
	b.call("ListServiceDeployments", `{"service":"web","createdAt":{"after":1}}`).wantError(t, "ServiceNotFoundException", "Service not found.")
	b.call("ListServicesByNamespace", `{"namespace":"mesh"}`).wantError(t, "NamespaceNotFoundException", "The namespace mesh was not found: a cluster has the namespace of its serviceConnectDefaults, or that of its own name.")
	b.call("StopServiceDeployment", `{"serviceDeploymentArn":"`+arnPrefix+`service-deployment/default/web/x"}`).wantError(t, "ServiceDeploymentNotFoundException", "Service deployment not found.")
}

func TestAgentsRegisterAndUpdateThemselves(t *testing.T) {
	b := newFixture(t)
	b.call("RegisterContainerInstance", `{"cluster":"default","totalResources":[]}`).wantError(t, "ClientException",
		"Container instances register themselves: run `pinion up --cluster default` on the machine, with --join and a token of `pinion token` if it belongs to a pool already.")
	b.call("UpdateContainerAgent", `{"containerInstance":"`+hostID+`"}`).wantError(t, "NoUpdateAvailableException",
		"There is no update available for this container agent: gpu-1 runs pinion 1.2.3. Update pinion on the host itself.")
	b.call("UpdateContainerAgent", `{"containerInstance":"x"}`).wantError(t, invalid, "The referenced container instance was not found.")
	b.call("RegisterContainerInstance", `{"cluster":"nope"}`).wantError(t, noCluster, "Cluster not found.")
}
