package ecs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
)

const (
	web = `{"family":"web","networkMode":"awsvpc","containerDefinitions":[
	{"name":"web","image":"i","memory":64,"portMappings":[{"containerPort":80}]},{"name":"beside","image":"i","memory":64}]}`
	inLab = `"networkConfiguration":{"awsvpcConfiguration":{"subnets":["lab"],"securityGroups":[],"assignPublicIp":"DISABLED"}}`
)

// networked is a fixture whose host is in the network lab, and has the definition web:1.
func networked(t *testing.T) *fixture {
	f := ready(t)
	host := newHost(hostID, "gpu-1", 4)
	host.TaskNetwork = &tasknetwork.Network{Name: "lab", Range: "10.32.0.0/16"}
	f.mustApply(t, raftfsm.PutHost{Host: host})
	f.must(t, "RegisterTaskDefinition", web)
	return f
}

// A network configuration belongs to networkMode awsvpc, and names networks that there are. What would have no effect is refused.
func TestANetworkConfigurationNamesNetworksOfTasks(t *testing.T) {
	f := networked(t)
	configuration := func(inner string) string {
		return `"networkConfiguration":{"awsvpcConfiguration":{` + inner + `}}`
	}
	for body, says := range map[string]string{
		`"taskDefinition":"tensorflow-1-gpu",` + inLab:                                                 "not valid for the given networkMode",
		`"taskDefinition":"web",` + configuration(`"subnets":[]`):                                      "1 to 16",
		`"taskDefinition":"web",` + configuration(`"subnets":["subnet-1"]`):                            "The subnet ID 'subnet-1' does not exist",
		`"taskDefinition":"web",` + configuration(`"subnets":["lab","a' or 'b"]`):                      "name of a network",
		`"taskDefinition":"web",` + configuration(`"subnets":["lab"],"securityGroups":["sg-1"]`):       "securityGroups",
		`"taskDefinition":"web",` + configuration(`"subnets":["lab"],"assignPublicIp":"ENABLED"`):      "public IP",
		`"taskDefinition":"web",` + configuration(`"subnets":["lab"],"assignPublicIp":"YES"`):          "assignPublicIp",
		`"taskDefinition":"web",` + configuration(`"subnets":["`+strings.Repeat(`lab","`, 16)+`lab"]`): "1 to 16",
		`"taskDefinition":"web","tags":[{"key":"pinion.gang","value":"true"}],"count":2,` + inLab:      "gang",
	} {
		for _, operation := range []string{"RunTask", "CreateService"} {
			if operation == "CreateService" {
				if strings.Contains(body, "gang") {
					continue
				}
				body = `"serviceName":"s","desiredCount":1,` + body
			}
			if got := f.call(operation, `{`+body+`}`); errorType(got.err) != invalid && !strings.Contains(fmt.Sprint(got.err), "not supported") || !strings.Contains(fmt.Sprint(got.err), says) {
				t.Errorf("%s %s: %v, want %s", operation, body, got.err, says)
			}
		}
	}
	f.must(t, "RunTask", `{"taskDefinition":"web"}`)
	if len(f.asked.Constraints) != 1 || f.asked.Constraints[0] != spec.InSubnets([]string{"lab"}) {
		t.Errorf("the only network is chosen by %v", f.asked.Constraints)
	}
	other := newHost("aaaa0000000000000000000000000002", "gpu-2", 0)
	other.TaskNetwork = &tasknetwork.Network{Name: "dmz", Range: "10.40.0.0/16"}
	f.mustApply(t, raftfsm.PutHost{Host: other})
	if got := f.call("RunTask", `{"taskDefinition":"web"}`); errorType(got.err) != invalid || !strings.Contains(fmt.Sprint(got.err), "must be provided when networkMode 'awsvpc' is specified. Its subnets are dmz, lab") {
		t.Errorf("of two networks one is chosen: %v", got.err)
	}
	if got := f.call("StartTask", `{"taskDefinition":"web",`+inLab+`,"containerInstances":["`+other.ID+`"]}`); errorType(got.err) != invalid {
		t.Errorf("a task is started on a host of another network: %v", got.err)
	}
	f.must(t, "StartTask", `{"taskDefinition":"web",`+inLab+`,"containerInstances":["`+hostID+`"]}`)
	f.must(t, "RunTask", `{"taskDefinition":"web",`+inLab+`,"placementConstraints":[{"type":"distinctInstance"}]}`)
	want := []spec.PlacementConstraint{{Type: spec.MemberOf, Expression: "attribute:ecs.subnet-id in ['lab']"}, {Type: spec.DistinctInstance}}
	if !slices.Equal(f.asked.Constraints, want) {
		t.Errorf("the hosts have to meet %v", f.asked.Constraints)
	}
}

// DescribeTasks shows the address of a task as ECS does: as an attachment, which each of its containers has.
func TestATaskShowsItsAddress(t *testing.T) {
	f := networked(t)
	f.must(t, "RunTask", `{"taskDefinition":"web",`+inLab+`}`)
	type described struct {
		Tasks []struct {
			Attachments []struct {
				ID, Type, Status string
				Details          []spec.KeyValue
			}
			Containers []struct {
				NetworkInterfaces []struct{ AttachmentID, PrivateIpv4Address string }
			}
		}
	}
	describe := func() (d described) {
		t.Helper()
		f.must(t, "DescribeTasks", `{"tasks":["`+firstTask+`"]}`).decode(t, &d)
		return d
	}
	if a := describe().Tasks[0].Attachments; len(a) != 1 || a[0].Status != "ATTACHING" || a[0].Type != "ElasticNetworkInterface" || len(describe().Tasks[0].Containers[0].NetworkInterfaces) != 0 {
		t.Errorf("%+v", a)
	}
	running := []spec.ContainerReport{{Name: "web", Status: spec.Running, Address: "10.32.0.7"}, {Name: "beside", Status: spec.Running, Address: "10.32.0.7"}}
	f.mustApply(t, raftfsm.ReportTasks{HostID: hostID, Reports: []spec.TaskReport{{TaskID: firstTask, Status: spec.Running, Containers: running}}})
	task := describe().Tasks[0]
	want := []spec.KeyValue{{Name: "subnetId", Value: "lab"}, {Name: "privateIPv4Address", Value: "10.32.0.7"}}
	if a := task.Attachments; len(a) != 1 || a[0].Status != "ATTACHED" || !slices.Equal(a[0].Details, want) {
		t.Errorf("%+v", a)
	}
	for _, c := range task.Containers {
		if len(c.NetworkInterfaces) != 1 || c.NetworkInterfaces[0].PrivateIpv4Address != "10.32.0.7" || c.NetworkInterfaces[0].AttachmentID != task.Attachments[0].ID {
			t.Errorf("%+v", c)
		}
	}
	if task := f.state.View().Task(firstTask); len(task.Ports) > 0 {
		t.Errorf("it takes ports of its host: %v", task.Ports)
	}
}

// The network of a service belongs to its deployments: another one is a rollout, and a retry of the same is none.
func TestAServiceHasTheNetworkOfItsDeployment(t *testing.T) {
	f := networked(t)
	other := newHost("aaaa0000000000000000000000000002", "gpu-2", 0)
	other.TaskNetwork = &tasknetwork.Network{Name: "dmz", Range: "10.40.0.0/16"}
	f.mustApply(t, raftfsm.PutHost{Host: other})
	create := `{"serviceName":"s","taskDefinition":"web","desiredCount":1,` + inLab + `}`
	f.must(t, "CreateService", create)
	f.must(t, "CreateService", create)
	f.call("CreateService", strings.Replace(create, `["lab"]`, `["dmz"]`, 1)).wantError(t, invalid, "Creation of service was not idempotent.")
	type described struct {
		Services []struct {
			NetworkConfiguration struct {
				AwsvpcConfiguration struct{ Subnets []string }
			}
			Deployments []struct{ ID string }
		}
	}
	deployment := ""
	wants := func(rollout bool, subnets ...string) {
		t.Helper()
		var d described
		f.must(t, "DescribeServices", `{"services":["s"]}`).decode(t, &d)
		s := d.Services[0]
		if !slices.Equal(s.NetworkConfiguration.AwsvpcConfiguration.Subnets, subnets) || (s.Deployments[0].ID != deployment) != rollout {
			t.Errorf("%+v", s)
		}
		deployment = s.Deployments[0].ID
	}
	wants(true, "lab")
	f.must(t, "UpdateService", `{"service":"s",`+inLab+`}`)
	wants(false, "lab")
	f.must(t, "UpdateService", `{"service":"s","desiredCount":2}`)
	wants(false, "lab")
	f.must(t, "UpdateService", `{"service":"s",`+strings.Replace(inLab, `["lab"]`, `["lab","dmz"]`, 1)+`}`)
	wants(true, "dmz", "lab")
	f.must(t, "UpdateService", `{"service":"s","forceNewDeployment":true}`)
	wants(true, "dmz", "lab")
	f.must(t, "UpdateService", `{"service":"s","taskDefinition":"tensorflow-1-gpu"}`)
	wants(true)
	if got := f.call("UpdateService", `{"service":"s","taskDefinition":"web"}`); errorType(got.err) != invalid {
		t.Errorf("a task without a network: %v", got.err)
	}
}
