package dispatch

import (
	"math"
	"slices"
	"testing"

	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

// A number of a host that is none of its kind ends no answer about the tasks of other hosts: SDKs of ECS read exit codes and ports as 32 bits.
func TestAHostReportsValuesThatThereAre(t *testing.T) {
	for said, want := range map[int]int{0: 0, 137: 137, math.MaxInt: math.MaxInt32, math.MinInt: math.MinInt32} {
		given := spec.TaskReport{Containers: []spec.ContainerReport{{Name: "c", ExitCode: &said}}}
		if got := boundedReport(given, 1, nil).Containers[0].ExitCode; got == nil || *got != want {
			t.Errorf("the exit code %d is recorded as %v", said, got)
		}
	}
	got := boundedReport(spec.TaskReport{Containers: []spec.ContainerReport{
		{Health: "FINE", PeakMemory: math.MaxInt64, GPUTotals: &gpuuse.Totals{PeakMemoryMiB: math.MaxInt64, Joules: math.MaxInt64, MeasuredSeconds: -1}},
		{Health: spec.Unhealthy, PeakMemory: 5, GPUTotals: &gpuuse.Totals{PeakMemoryMiB: 5}},
	}}, 2, nil).Containers
	if c := got[0]; c.Health != "" || c.PeakMemory<<1 < 0 || c.GPUTotals.PeakMemoryMiB<<20 < 0 || c.GPUTotals.Joules != 0 || c.GPUTotals.MeasuredSeconds != 0 {
		t.Errorf("%+v, %+v", c, c.GPUTotals)
	}
	if c := got[1]; c.Health != spec.Unhealthy || c.PeakMemory != 5 || c.GPUTotals.PeakMemoryMiB != 5 {
		t.Errorf("%+v, %+v", c, c.GPUTotals)
	}
	good := []spec.NetworkBinding{{BindIP: "0.0.0.0", ContainerPort: 80, HostPort: 65535, Protocol: "tcp"}, {BindIP: "::", ContainerPortRange: "8000-8010", HostPortRange: "9000-9010", Protocol: "udp"}}
	bad := []spec.NetworkBinding{
		{ContainerPort: 80, HostPort: 65536, Protocol: "tcp"}, {ContainerPort: 80, HostPort: -1, Protocol: "tcp"}, {ContainerPort: math.MaxInt, Protocol: "tcp"},
		{BindIP: "example.org", Protocol: "tcp"}, {Protocol: "sctp"}, {ContainerPortRange: "1-x", Protocol: "tcp"}, {HostPortRange: "1-999999", Protocol: "tcp"},
	}
	given := spec.TaskReport{Containers: []spec.ContainerReport{{Name: "c", Bindings: slices.Concat(bad, good)}}}
	if got := boundedReport(given, 1, nil).Containers[0].Bindings; !slices.Equal(got, good) || len(given.Containers[0].Bindings) != len(bad)+len(good) {
		t.Errorf("%+v", got)
	}
}
