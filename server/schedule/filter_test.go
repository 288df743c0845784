package schedule

import (
	"strings"
	"testing"

	"pinion/raftfsm/hostport"
	"pinion/raftfsm/spec"
)

func TestEveryRefusalExplainsItself(t *testing.T) {
	privileged := true
	cases := []struct {
		name           string
		host           func(*Host)
		request        func(*Request)
		reason, detail string
	}{
		{"draining", func(h *Host) { h.Host.Status = spec.HostDraining }, nil, "INACTIVE", "the host is DRAINING"},
		{"not heard of", func(h *Host) { h.Connected = false }, nil, "AGENT", "heartbeats are missing"},
		{"an attribute missing", nil, requires("ecs.capability.gds", ""), "ATTRIBUTE", "does not have the attribute ecs.capability.gds"},
		{"an attribute with another value", nil, requires("ecs.cpu-architecture", "arm64"), "ATTRIBUTE", `ecs.cpu-architecture is "x86_64", needs "arm64"`},
		{"another CPU", nil, func(r *Request) {
			r.Definition.RuntimePlatform = &spec.RuntimePlatform{CPUArchitecture: "ARM64"}
		}, "ATTRIBUTE", `ecs.cpu-architecture is "x86_64", needs "arm64"`},
		{"privileged beside GPUs", nil, func(r *Request) { r.Definition.Containers[0].Privileged = &privileged },
			"ATTRIBUTE", "container c0 is privileged and could reach every GPU"},
		{"privileged beside GPUs that cannot be seen", func(h *Host) { h.Host.GPUs.Devices, h.Host.GPUs.Problem = nil, "no driver" },
			func(r *Request) { *r = request(1, 0); r.Definition.Containers[0].Privileged = &privileged }, "ATTRIBUTE", "is privileged"},
		{"a directory that the host does not give", nil, func(r *Request) {
			r.Definition.Volumes = []spec.Volume{{Name: "v", Host: &spec.HostVolume{SourcePath: "/data"}}}
		}, "ATTRIBUTE", "volume v: /data is in no directory that this host gives to tasks: start the host with pinion up --volume /data"},
		{"a submit key that asks for the host's processes beside GPUs", func(h *Host) { h.Host.Allow = []string{spec.AllowHostPID} },
			func(r *Request) { r.Definition.PIDMode = "host" }, "ATTRIBUTE", "needs an access key of the role admin"},
		{"no CPU left", func(h *Host) { h.Free.CPU = 99 }, nil, "RESOURCE:CPU", "needs 100 CPU units, 99 free"},
		{"no memory left", func(h *Host) { h.Free.MemoryMiB = 99 }, nil, "RESOURCE:MEMORY", "needs 100 MiB of memory, 99 free"},
		{"a port taken", func(h *Host) { h.Free.Ports = hostport.Set{80: true} }, func(r *Request) {
			r.Definition.Containers[0].PortMappings = []spec.PortMapping{{HostPort: 80}}
		}, "RESOURCE:PORTS", "host port 80 is taken"},
		{"no GPU left", func(h *Host) { h.Free.GPUs = nil }, nil, "RESOURCE:GPU", "needs 1 GPU, 0 free"},
		{"no GPU and a reason", func(h *Host) { h.Free.GPUs, h.Host.GPUs.Problem = nil, "the driver is missing" }, nil,
			"RESOURCE:GPU", "needs 1 GPU, 0 free (the driver is missing)"},
		{"GPUs that cannot be picked", func(h *Host) { h.Free.GPUs = []string{"ghost"} }, nil, "RESOURCE:GPU", "have together"},
		{"a constraint", nil, func(r *Request) {
			r.Definition.PlacementConstraints = []spec.PlacementConstraint{{Type: "memberOf", Expression: "attribute:rack == 7"}}
		}, "MemberOf placement constraint unsatisfied.", "attribute:rack == 7: the host does not have the attribute"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h, r := host("h1", 1), request(1, 1)
			if c.host != nil {
				c.host(&h)
			}
			if c.request != nil {
				c.request(&r)
			}
			got := plan([]Host{h}, r)
			if len(got.Tasks) != 0 || len(got.Failures) != 1 {
				t.Fatalf("%+v", got)
			}
			failure := got.Failures[0]
			if failure.HostID != "h1" || failure.Reason != c.reason || !strings.Contains(failure.Detail, c.detail) {
				t.Errorf("%s: %s", failure.Reason, failure.Detail)
			}
		})
	}
}

func requires(name, value string) func(*Request) {
	return func(r *Request) { r.Definition.RequiresAttributes = []spec.Attribute{{Name: name, Value: value}} }
}

func TestWhatAHostHasIsAccepted(t *testing.T) {
	privileged, unprivileged := true, false
	r := request(1, 0)
	r.Definition.RuntimePlatform = &spec.RuntimePlatform{CPUArchitecture: "X86_64"}
	r.Definition.RequiresAttributes = []spec.Attribute{{Name: "ecs.cpu-architecture"}}
	r.Definition.Containers[0].Privileged = &privileged
	generous := host("without GPUs", 0)
	generous.Host.Allow = []string{spec.AllowPrivileged}
	wantPlaces(t, plan([]Host{generous}, r), "without GPUs")
	r = request(1, 1)
	r.Definition.Containers[0].Privileged = &unprivileged
	wantPlaces(t, plan([]Host{host("with GPUs", 1)}, r), "with GPUs")
}
