package schedule

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

func recordsOf(hosts []Host) (records []*spec.Host) {
	for _, h := range hosts {
		records = append(records, h.Host)
	}
	return records
}

func TestWhatNoHostCouldEverRunIsSaidWithTheNearest(t *testing.T) {
	privileged := request(1, 0)
	privileged.Definition.Containers[0].Privileged = new(true)
	large := request(1, 9)
	large.Definition.Containers[0].Memory = 10_000
	port := request(1, 0)
	port.Definition.Containers[0].PortMappings = []spec.PortMapping{{ContainerPort: 80, HostPort: 22}}
	whole := request(1, 0)
	whole.Definition.Containers[0].ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: spec.AllGPUs}}
	arm := request(1, 0)
	arm.Definition.RuntimePlatform = &spec.RuntimePlatform{CPUArchitecture: "ARM64"}
	sick := host("a", 2)
	sick.Host.GPUs.Devices[0].Health = gpu.Unhealthy
	away := host("a", 8)
	away.Connected, away.Host.Status = false, spec.HostDraining
	unseen := host("a", 0)
	unseen.Host.GPUs.Problem = "the driver does not answer"

	for name, c := range map[string]struct {
		hosts   []Host
		request Request
		want    string // host, reason and detail; empty: it is possible
	}{
		"more GPUs than any host has":           {[]Host{host("a", 4), host("b", 8), host("c", 2)}, request(1, 9), "b RESOURCE:GPU needs 9 GPUs, the host has 8"},
		"the host that lacks least is named":    {[]Host{host("a", 8), host("b", 4)}, large, "a RESOURCE:MEMORY needs 10000 MiB of memory, the host has 8192; needs 9 GPUs, the host has 8"},
		"one thing is nearer than two":          {[]Host{host("a", 8), host("b", 0, withMemory)}, large, "b RESOURCE:GPU needs 9 GPUs, the host has 0"},
		"a port that hosts keep":                {[]Host{host("a", 0, func(h *spec.Host) { h.Ports = []int{22} })}, port, "a RESOURCE:PORTS host port 22 is taken"},
		"every GPU where there is none":         {[]Host{host("a", 0)}, whole, "a RESOURCE:GPU needs 1 GPU, the host has 0"},
		"another kind of CPU":                   {[]Host{host("a", 0)}, arm, `a ATTRIBUTE attribute ecs.cpu-architecture is "x86_64", needs "arm64"`},
		"a constraint that none meets":          {[]Host{host("a", 1, with("rack", "7"))}, limited(request(1, 1), "attribute:rack == 8"), `a MemberOf placement constraint unsatisfied. `},
		"GPUs that cannot be seen":              {[]Host{unseen}, request(1, 1), "a RESOURCE:GPU needs 1 GPU, the host has 0 (the driver does not answer)"},
		"a privileged task beside GPUs":         {[]Host{host("a", 1)}, privileged, "a ATTRIBUTE "},
		"no host at all":                        {nil, request(1, 0), " MISSING the cluster has no host"},
		"a gang that all hosts are too few for": {[]Host{host("a", 4), host("b", 5)}, gangOf(3, 4), " RESOURCE:GPU the 3 tasks of the gang start together, and the hosts together have room for 2 of them at most"},
		"a gang with more tasks than hosts":     {[]Host{host("a", 4), host("b", 5)}, limited(gangOf(3, 1), ""), " DistinctInstance placement constraint unsatisfied. the 3 tasks of the gang"},

		"what one host of several can":             {[]Host{host("a", 1), host("b", 8)}, request(1, 8), ""},
		"a gang on several hosts":                  {[]Host{host("a", 4), host("b", 5)}, gangOf(2, 4), ""},
		"a sick GPU may be well again":             {[]Host{sick}, request(1, 2), ""},
		"a host that drains or is away comes back": {[]Host{away}, request(1, 8), ""},
		"tasks of a host change":                   {[]Host{host("a", 1)}, limited(request(1, 1), "task:group == service:db"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			lack, impossible := Infeasible(recordsOf(c.hosts), c.request)
			got := fmt.Sprint(lack.HostID, " ", lack.Reason, " ", lack.Detail)
			if impossible != (c.want != "") || impossible && !strings.HasPrefix(got, c.want) {
				t.Errorf("got %v %q, want %q", impossible, got, c.want)
			}
		})
	}
}

// withMemory has more memory than a host of the tests.
func withMemory(h *spec.Host) { h.MemoryMiB = 1 << 20 }

// TestImpossibleIsWhatEmptyHostsRefuse: hosts with nothing on them, all of them well and heard of, take what is not
// impossible, and only that.
func TestImpossibleIsWhatEmptyHostsRefuse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hosts []Host
		for i := range rapid.IntRange(1, 4).Draw(t, "hosts") {
			h := host(fmt.Sprint("h", i), rapid.IntRange(0, 8).Draw(t, "devices"),
				with("rack", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "rack")),
				func(h *spec.Host) { h.Ports = []int{rapid.IntRange(1, 3).Draw(t, "kept")} })
			hosts = append(hosts, h)
		}
		r := gangOf(rapid.IntRange(1, 6).Draw(t, "count"), rapid.SliceOfN(rapid.IntRange(0, 5), 1, 2).Draw(t, "gpus")...)
		r.Definition.Containers[0].CPU = rapid.Int64Range(0, 5000).Draw(t, "cpu")
		r.Definition.Containers[0].Memory = rapid.Int64Range(1, 9000).Draw(t, "memory")
		r.Definition.Containers[0].PortMappings = []spec.PortMapping{{HostPort: rapid.IntRange(0, 3).Draw(t, "port")}}
		for _, constraint := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"attribute:rack == 1", ""}), rapid.ID).Draw(t, "constraints") {
			r = limited(r, constraint)
		}
		d := plan(hosts, r)
		if _, impossible := Infeasible(recordsOf(hosts), r); impossible != (len(d.Tasks) == 0) {
			t.Fatalf("impossible: %v, but %d tasks have places", impossible, len(d.Tasks))
		}
	})
}
