package ecs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

func TestHostsAreDrainedAndTakenBack(t *testing.T) {
	b := newFixture(t)
	got := b.must(t, "UpdateContainerInstancesState", `{"containerInstances":["`+hostID+`","nope"],"status":"DRAINING"}`)
	var answer struct {
		Instances []struct{ Status string } `json:"containerInstances"`
		Failures  []struct{ ARN, Reason string }
	}
	got.decode(t, &answer)
	if len(answer.Instances) != 1 || answer.Instances[0].Status != "DRAINING" || len(answer.Failures) != 1 ||
		answer.Failures[0].Reason != "MISSING" || !strings.HasSuffix(answer.Failures[0].ARN, ":container-instance/default/nope") {
		t.Errorf("%s", got.Body)
	}
	if status := b.state.View().Host(hostID).Status; status != spec.HostDraining {
		t.Errorf("the state says %s", status)
	}
	b.must(t, "UpdateContainerInstancesState", `{"containerInstances":["`+hostID+`"],"status":"ACTIVE"}`)
	if status := b.state.View().Host(hostID).Status; status != spec.HostActive {
		t.Errorf("the state says %s", status)
	}
}

func TestWhatCannotBeDrained(t *testing.T) {
	b := newFixture(t)
	eleven := `["` + strings.Repeat(hostID+`","`, 10) + hostID + `"]`
	for body, message := range map[string]string{
		`{"containerInstances":["` + hostID + `"],"status":"INACTIVE"}`:                          "Container instance status should be one of [ACTIVE,DRAINING]",
		`{"containerInstances":[],"status":"DRAINING"}`:                                          "Container instances cannot be empty.",
		`{"containerInstances":["a"],"status":"ACTIVE","stopTasks":true}`:                        "stopTasks goes with the status DRAINING.",
		`{"containerInstances":["a"],"status":"DRAINING","deadlineSeconds":60}`:                  "deadlineSeconds goes with stopTasks.",
		`{"containerInstances":["a"],"status":"DRAINING","stopTasks":true,"deadlineSeconds":-1}`: "deadlineSeconds must be from 0 to 2592000, not -1.",
		`{"containerInstances":` + eleven + `,"status":"DRAINING"}`:                              "instanceIds can have at most 10 items.",
	} {
		b.call("UpdateContainerInstancesState", body).wantError(t, invalid, message)
	}
	b.call("UpdateContainerInstancesState", `{"cluster":"x","containerInstances":["a"],"status":"DRAINING"}`).wantError(t, "ClusterNotFoundException", "Cluster not found.")
}

func TestAHostIsDeregisteredWhenItsTasksAreOverOrByForce(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	b.call("DeregisterContainerInstance", `{"containerInstance":"`+hostID+`"}`).wantError(t, invalid, "Found running tasks on the instance.")
	b.call("DeregisterContainerInstance", `{"containerInstance":"nope"}`).wantError(t, invalid, "The referenced container instance was not found.")
	var answer struct {
		Instance struct {
			ARN            string `json:"containerInstanceArn"`
			Status         string
			AgentConnected bool
		} `json:"containerInstance"`
	}
	b.must(t, "DeregisterContainerInstance", `{"containerInstance":"`+hostID+`","force":true}`).decode(t, &answer)
	if answer.Instance.Status != "INACTIVE" || answer.Instance.AgentConnected || !strings.HasSuffix(answer.Instance.ARN, hostID) {
		t.Errorf("%+v", answer)
	}
	if want := []string{"remove " + hostID + " false", "remove " + hostID + " true"}; !slices.Equal(b.removals, want) {
		t.Errorf("%q", b.removals)
	}
}

// The servers of a pool serve all its clusters: who administers one does not remove them.
func TestAKeyForOneClusterRemovesNoServer(t *testing.T) {
	f := newFixture(t)
	remove := func(scope auth.KeyClusters) error {
		r := &Request{Region: "us-east-1", Principal: "me", KeyClusters: scope, Role: accesskey.RoleAdmin, View: f.state.View(), Store: f, Hosts: f, Now: func() time.Time { return epoch }}
		bound, err := Operations["DeregisterContainerInstance"].Prepare(r, []byte(`{"containerInstance":"`+hostID+`","force":true}`), wire.DecodeJSON)
		if err == nil {
			_, err = bound.Run(t.Context())
		}
		return err
	}
	f.mustApply(t, raftfsm.SetServerRole{ID: hostID, Server: true})
	if err := remove(spec.DefaultCluster); errorType(err) != wire.AccessDenied || len(f.removals) > 0 {
		t.Errorf("a server: %v, %q", err, f.removals)
	}
	f.mustApply(t, raftfsm.SetServerRole{ID: hostID})
	if err := remove(spec.DefaultCluster); err != nil || len(f.removals) != 1 {
		t.Errorf("an agent: %v, %q", err, f.removals)
	}
}

// A host that is not heard of keeps its tasks for a while; clients see that nobody knows how they are.
func TestTasksOfALostHostAreDisconnected(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	b.reportRunning(t, firstTask)
	b.disconnected[hostID] = true
	if got := b.must(t, "DescribeTasks", `{"tasks":["`+firstTask+`"]}`).Body.String(); !strings.Contains(got, `"connectivity":"DISCONNECTED"`) || !strings.Contains(got, `"lastStatus":"RUNNING"`) {
		t.Errorf("%s", got)
	}
	if got := b.must(t, "DescribeContainerInstances", `{"containerInstances":["`+hostID+`"]}`).Body.String(); !strings.Contains(got, `"agentConnected":false`) {
		t.Errorf("%s", got)
	}
}
