package replay

import (
	"fmt"
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/pack"
)

// hostOf is a host of a workload as the pool's planner sees it. Its GPUs have 1000 MiB each and are shared, so that thousandths of a GPU are
// MiB of its memory.
func hostOf(at int, h pack.Host) *spec.Host {
	host := &spec.Host{ID: fmt.Sprintf("%04d", at), Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: h.CPU, MemoryMiB: h.MemoryMiB}
	host.GPUs.Simulated, host.GPUs.VRAMEnforcement = true, gpu.EnforcedByMPS
	for i := range h.Free {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{
			UUID: fmt.Sprint(at, "-", i), Index: i, Model: h.Model, MemoryMiB: pack.Whole, Health: gpu.Healthy})
	}
	return host
}

// requestOf asks for a task of the shape: whole GPUs, or a share of one.
func requestOf(s pack.Shape, id func() string) schedule.Request {
	c := spec.ContainerDefinition{Name: "main", CPU: s.CPU, Memory: s.MemoryMiB}
	switch {
	case s.Shares():
		share := &spec.SharingStrategy{NvidiaMPS: &spec.NvidiaMPS{Memory: int64(s.Milli)}}
		c.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", SharingStrategy: share}}
	case s.GPUs > 0:
		c.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: fmt.Sprint(s.GPUs)}}
	}
	d := &spec.TaskDefinition{Family: "task", Revision: 1, Containers: []spec.ContainerDefinition{c}}
	run := spec.RunRequest{Cluster: spec.DefaultCluster, Definition: d.Name(), Count: 1}
	if s.Models != "" && s.GPUs > 0 {
		expression := fmt.Sprintf("attribute:%s in [%s]", gpu.AttributeModel, strings.ReplaceAll(s.Models, "|", ", "))
		run.Constraints = []spec.PlacementConstraint{{Type: spec.MemberOf, Expression: expression}}
	}
	return schedule.Request{Run: run, Definition: d, IDs: id, Quiet: true}
}

// onPlanner is what the pool's own planner leaves of the GPUs of a workload at 130 %, shares as shares.
func onPlanner(t testing.TB, w Workload) (unallocated float64) {
	t.Helper()
	hosts, n := schedule.NewHostSet(), 0
	for i, h := range w.Hosts {
		hosts.PutHost(hostOf(i, h), true)
	}
	id := func() string { n++; return fmt.Sprintf("%032x", n) }
	var marks samples
	arrived, used := 0, 0
	for _, s := range w.Tasks {
		arrived += s.GPUMilli()
		decision := hosts.Plan([]schedule.Request{requestOf(s, id)})[0]
		if decision.Err != nil {
			t.Fatal(decision.Err)
		}
		for _, task := range decision.Tasks {
			if task.GPUMilli() != s.GPUMilli() {
				t.Fatalf("a task of %+v has %d thousandths", s, task.GPUMilli())
			}
			used += s.GPUMilli()
		}
		marks.add(percent(arrived, w.Capacity), percent(used, w.Capacity))
	}
	return twoDecimals(100 - marks.at(130))
}

// BenchmarkPlanner replays the published traces on the planner that places the pool's tasks, beside FGD and our policy for parts of GPUs: the
// means of some of the published seeds, one by one.
func BenchmarkPlanner(b *testing.B) {
	for _, name := range traceNames {
		b.Run(name, func(b *testing.B) {
			experiment := trace(b, name)
			for b.Loop() {
				sums := map[string]float64{}
				for seed := int64(firstSeed); seed < firstSeed+*seeds; seed++ {
					w, err := Draw(experiment.Hosts, experiment.Tasks, seed, experiment.Inflate)
					if err != nil {
						b.Fatal(err)
					}
					sums["unallocated-%"] += onPlanner(b, w)
					for policy, label := range map[string]string{"fgd": "FGD-%", "default": "pack-%"} {
						got, err := experiment.one(policy, seed)
						if err != nil {
							b.Fatal(err)
						}
						sums[label] += got.Unallocated130
					}
				}
				for label, sum := range sums {
					b.ReportMetric(sum/float64(*seeds), label)
				}
			}
		})
	}
}
