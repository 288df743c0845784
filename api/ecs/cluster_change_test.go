package ecs

import (
	"strings"
	"testing"

	"pinion/raftfsm"
)

// The life of a cluster, each answer with every byte of it.
func TestTheLifeOfACluster(t *testing.T) {
	b := newFixture(t)
	step := func(name, operation, body string) {
		t.Helper()
		b.must(t, operation, body).golden(t, name)
	}
	step("create-cluster-full", "CreateCluster", `{"clusterName":"lab","capacityProviders":[],"defaultCapacityProviderStrategy":[],
		"settings":[{"name":"containerInsights","value":"enabled"}],"serviceConnectDefaults":{"namespace":"mesh"},"tags":[{"key":"team","value":"vision"}],
		"configuration":{"managedStorageConfiguration":{},"executeCommandConfiguration":{"kmsKeyId":"k","logging":"OVERRIDE","logConfiguration":{"cloudWatchLogGroupName":"g","cloudWatchEncryptionEnabled":false}}}}`)
	step("describe-clusters-include", "DescribeClusters", `{"clusters":["lab"],"include":["ATTACHMENTS","CONFIGURATIONS","SETTINGS","STATISTICS","TAGS"]}`)
	step("update-cluster", "UpdateCluster", `{"cluster":"lab","settings":[{"name":"containerInsights","value":"enhanced"}],"configuration":{"executeCommandConfiguration":{"logging":"NONE"}},"serviceConnectDefaults":{"namespace":""}}`)
	step("update-cluster-settings", "UpdateClusterSettings", `{"cluster":"arn:aws:ecs:us-east-1:123456789012:cluster/lab","settings":[{"name":"containerInsights","value":"disabled"}]}`)
	step("delete-cluster", "DeleteCluster", `{"cluster":"lab"}`)
	step("describe-clusters-deleted", "DescribeClusters", `{"clusters":["lab"]}`)

	if list := b.must(t, "ListClusters", `{}`).Body.String(); strings.Contains(list, "lab") {
		t.Errorf("a deleted cluster is listed: %s", list)
	}
	b.must(t, "DeleteCluster", `{"cluster":"lab"}`) // the retry of a client that did not hear the answer
	for _, operation := range []string{"UpdateCluster", "UpdateClusterSettings"} {
		b.call(operation, `{"cluster":"lab","settings":[{"name":"containerInsights","value":"enabled"}]}`).wantError(t, noCluster, "Cluster not found.")
	}
	if again := b.must(t, "CreateCluster", `{"clusterName":"lab"}`).Body.String(); !strings.Contains(again, `"status":"ACTIVE"`) || strings.Contains(again, "vision") {
		t.Errorf("brought back: %s", again)
	}
}

func TestAClusterThatIsUsedIsNotDeleted(t *testing.T) {
	b := ready(t)
	const kind = "ClusterContains"
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	host := newHost(strings.Repeat("b", 32), "gpu-2", 1)
	host.Cluster = "lab"
	b.mustApply(t, raftfsm.PutHost{Host: host})
	b.run(t, `{"cluster":"lab","taskDefinition":"tensorflow-1-gpu"}`)
	b.call("DeleteCluster", `{"cluster":"lab"}`).wantError(t, kind+"TasksException", "The Cluster cannot be deleted while Tasks are active.")
	b.reportExited(t, firstTask, 0)
	b.call("DeleteCluster", `{"cluster":"lab"}`).wantError(t, kind+"ContainerInstancesException", "The Cluster cannot be deleted while Container Instances are active or draining.")
	b.mustApply(t, raftfsm.RemoveHost{ID: host.ID})
	b.must(t, "DeleteCluster", `{"cluster":"lab"}`)
	b.call("DeleteCluster", `{"cluster":"nope"}`).wantError(t, noCluster, "Cluster not found.")
	b.call("DeleteCluster", `{}`).wantError(t, invalid, "Cluster can not be blank.")
	b.call("DeleteCluster", `{"cluster":"default"}`).wantError(t, "ClientException", "The cluster default cannot be deleted: requests and hosts that name no cluster mean it.")
}

func TestWhatAClusterCannotBeSetTo(t *testing.T) {
	b := newFixture(t)
	for body, message := range map[string]string{
		`{"settings":[{"name":"color","value":"red"}]}`:                                               `settings.name must be one of containerInsights, userNamespaces, allowedImages, gpuFaults, tagsWithoutRegistry, not "color"`,
		`{"settings":[{"name":"allowedImages","value":"library"}]}`:                                   `settings.value of allowedImages: "library" is no registry or repository written in full, such as registry.example.com:5000/team or docker.io/library`,
		`{"settings":[{"name":"gpuFaults","value":"reset"}]}`:                                         `settings.value of gpuFaults must hold only end, keep, move, not "reset"`,
		`{"settings":[{"name":"tagsWithoutRegistry","value":"yes"}]}`:                                 `settings.value of tagsWithoutRegistry must hold only disabled, enabled, not "yes"`,
		`{"settings":[{"name":"userNamespaces","value":"on"}]}`:                                       `settings.value of userNamespaces must hold only disabled, enabled, not "on"`,
		`{"settings":[{"value":"enabled"}]}`:                                                          "settings.name must not be empty",
		`{"settings":[{"name":"containerInsights","value":"on"}]}`:                                    `settings.value of containerInsights must hold only disabled, enabled, enhanced, not "on"`,
		`{"configuration":{"executeCommandConfiguration":{"logging":"SOME"}}}`:                        `configuration.executeCommandConfiguration.logging must be one of NONE, DEFAULT, OVERRIDE, not "SOME"`,
		`{"configuration":{"executeCommandConfiguration":{"logging":"OVERRIDE"}}}`:                    "configuration.executeCommandConfiguration.logConfiguration goes with logging OVERRIDE: give both or neither.",
		`{"configuration":{"executeCommandConfiguration":{"logConfiguration":{"s3BucketName":"b"}}}}`: "configuration.executeCommandConfiguration.logConfiguration goes with logging OVERRIDE: give both or neither.",
	} {
		b.call("CreateCluster", body).wantError(t, invalid, message)
		b.call("UpdateCluster", `{"cluster":"default",`+body[1:]).wantError(t, invalid, message)
	}
	b.call("UpdateClusterSettings", `{"cluster":"default"}`).wantError(t, invalid, "settings cannot be empty.")
}
