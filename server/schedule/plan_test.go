package schedule

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestATaskComesOutComplete(t *testing.T) {
	r := request(1, 2, 0)
	r.Run.StartedBy, r.Run.Tags = "me", []spec.Tag{{Key: "k", Value: "v"}}
	override := spec.ContainerOverride{Name: "c1", Command: []string{"ls"}}
	r.Run.Overrides = spec.TaskOverride{Memory: "300", Containers: []spec.ContainerOverride{override}}
	r.Definition.Containers[0].PortMappings = []spec.PortMapping{{ContainerPort: 80, HostPort: 8080}, {ContainerPort: 53, HostPort: 5353, Protocol: "udp"}}
	r.Definition = spec.Effective(r.Definition, r.Run.Overrides)
	want := &spec.Task{
		ID: "00000000000000000000000000000001", Cluster: "default", Definition: "work:3", HostID: "h1",
		Group: "family:work", StartedBy: "me", LaunchType: "EC2",
		Overrides: spec.Box(spec.TaskOverride{Memory: "300", Containers: []spec.ContainerOverride{{Name: "c0"}, override}}),
		CPU:       200, MemoryMiB: 300, Ports: []int{8080}, UDPPorts: []int{5353},
		Containers: []spec.Container{
			{ID: "00000000-0000-0000-0000-000000000002", Name: "c0", Image: "busybox", GPUs: []string{"h1-gpu0", "h1-gpu1"}, LastStatus: spec.Pending},
			{ID: "00000000-0000-0000-0000-000000000003", Name: "c1", Image: "busybox", LastStatus: spec.Pending},
		},
		LastStatus: spec.Pending, DesiredStatus: spec.Running, Tags: r.Run.Tags, Version: 1, CreatedAt: now,
	}
	if got := plan([]Host{host("h1", 4)}, r).Tasks[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestGroupAndLaunchTypeAreTheCallersIfGiven(t *testing.T) {
	r := request(1, 0)
	r.Run.Group, r.Run.LaunchType = "mine", "EXTERNAL"
	if got := plan([]Host{host("h1", 0)}, r).Tasks[0]; got.Group != "mine" || got.LaunchType != "EXTERNAL" {
		t.Errorf("%s, %s", got.Group, got.LaunchType)
	}
}

func TestPartialSuccessIsNormal(t *testing.T) {
	got := plan([]Host{host("h1", 2), host("h2", 3)}, request(4, 2))
	wantPlaces(t, got, "h1", "h2")
	want := []string{"h1 RESOURCE:GPU", "h2 RESOURCE:GPU", "h1 RESOURCE:GPU", "h2 RESOURCE:GPU"}
	if !slices.Equal(reasons(got), want) {
		t.Errorf("for each of two tasks each host: %v", reasons(got))
	}
	if got.Failures[1].Detail != "needs 2 GPUs, 1 free" {
		t.Errorf("detail: %q", got.Failures[1].Detail)
	}
}

func TestFailuresAreNotRepeatedWithoutEnd(t *testing.T) {
	var hosts []Host
	for range 60 {
		hosts = append(hosts, host(string(rune('A'+len(hosts))), 0))
	}
	if got := plan(hosts, request(10, 1)); len(got.Failures) != 60 {
		t.Errorf("%d failures for 60 hosts", len(got.Failures))
	}
	if got := plan(hosts[:20], request(10, 1)); len(got.Failures) != 100 {
		t.Errorf("%d failures for 20 hosts", len(got.Failures))
	}
}

func TestTheGPUsOfATaskComeFromOneHost(t *testing.T) {
	hosts := []Host{host("h1", 2), host("h2", 2)}
	if got := plan(hosts, request(1, 2, 1)); len(got.Tasks) != 0 || len(got.Failures) != 2 {
		t.Errorf("3 GPUs on hosts of 2: %+v", got)
	}
	got := plan(append(hosts, host("h3", 3)), request(1, 2, 1))
	wantPlaces(t, got, "h3")
	if all := got.Tasks[0].GPUs(); len(all) != 3 || slices.Contains(got.Tasks[0].Containers[0].GPUs, got.Tasks[0].Containers[1].GPUs[0]) {
		t.Errorf("the containers got %v", all)
	}
}

func TestRequestsOfOnePlanSeeEachOther(t *testing.T) {
	hosts := []Host{host("h1", 4)}
	got := PlanOn(hosts, []Request{request(1, 3), request(1, 2), request(1, 1)})
	wantPlaces(t, got[0], "h1")
	wantPlaces(t, got[1])
	wantPlaces(t, got[2], "h1")
	if len(hosts[0].Free.GPUs) != 4 || hosts[0].Free.CPU != 4096 {
		t.Errorf("the caller's hosts were changed: %+v", hosts[0].Free)
	}
}

func TestAClusterWithoutHostsIsAnError(t *testing.T) {
	elsewhere := host("h1", 1, func(h *spec.Host) { h.Cluster = "lab" })
	got := plan([]Host{elsewhere}, request(1, 0))
	if !errors.Is(got.Err, spec.ErrNoHosts) || len(got.Tasks)+len(got.Failures) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestStartTaskUsesTheNamedHosts(t *testing.T) {
	draining := host("h2", 1, func(h *spec.Host) { h.Status = spec.HostDraining })
	elsewhere := host("h4", 1, func(h *spec.Host) { h.Cluster = "lab" })
	r := request(0, 1)
	r.Run.Hosts = []string{"h3", "h2", "h1", "h4", "h9", "h3"}
	r.Definition.PlacementConstraints = []spec.PlacementConstraint{{Type: "memberOf", Expression: "x"}}
	got := plan([]Host{host("h1", 0), draining, host("h3", 1), elsewhere}, r)
	wantPlaces(t, got, "h3")
	want := []string{"h2 INACTIVE", "h1 RESOURCE:GPU", "h4 MISSING", "h9 MISSING", "h3 RESOURCE:GPU"}
	if !slices.Equal(reasons(got), want) {
		t.Errorf("failures: %v", reasons(got))
	}
}

func TestTheOrderOfTheHostsDoesNotMatter(t *testing.T) {
	hosts := []Host{host("h1", 4), host("h2", 2), host("h3", 0), host("h4", 2)}
	want := plan(hosts, request(4, 1, 1))
	slices.Reverse(hosts)
	if got := plan(hosts, request(4, 1, 1)); !reflect.DeepEqual(got, want) {
		t.Errorf("%v and %v", places(got), places(want))
	}
}
