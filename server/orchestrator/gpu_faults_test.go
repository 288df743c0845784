package orchestrator

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/gpufault"
	"pinion/raftfsm/spec"
)

// faultHistory is a host of which three GPUs have failed, with running tasks on them, and one on the other. They had waited for long.
func faultHistory(t *testing.T, policy gpufault.Policy, health gpu.Health) *memProposer {
	p := &memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	do := func(c raftfsm.Command) {
		t.Helper()
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	host := spec.Host{ID: "h", Name: "gpu-1", Cluster: spec.DefaultCluster, CPU: 9999, MemoryMiB: 9999}
	for _, uuid := range []string{"plain", "retried", "preemptible", "other"} {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: uuid, Index: len(host.GPUs.Devices), Health: gpu.Healthy})
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	do(raftfsm.UpdateCluster{Name: spec.DefaultCluster, Settings: []spec.Setting{{Name: gpufault.Setting, Value: string(policy)}}})
	do(raftfsm.PutHost{Host: host})
	one := []spec.ResourceRequirement{{Type: "GPU", Value: "1"}}
	do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c", ResourceRequirements: one}}}})
	for id, tags := range map[string][]spec.Tag{"plain": nil, "retried": {{Key: spec.TagRetries, Value: "1"}}, "preemptible": {{Key: spec.TagPreemptible, Value: "true"}}, "other": nil} {
		task := &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: "f:1", HostID: "h", CreatedAt: p.now.Add(-time.Hour), LastStatus: spec.Pending, DesiredStatus: spec.Running, Tags: tags,
			Containers: []spec.Container{{Name: "c", GPUs: []string{id}}}}
		do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
		do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: id, Status: spec.Running, Times: spec.TaskTimes{Started: p.now}}}})
	}
	for i := range 3 {
		host.GPUs.Devices[i].Health, host.GPUs.Devices[i].Problem = health, "Xid 48"
	}
	do(raftfsm.PutHost{Host: host})
	return p
}

// A cluster has its tasks moved from GPUs that have failed: those that may be tried again lose no attempt by it, and the others have failed.
func TestTasksLeaveAGPUThatHasFailed(t *testing.T) {
	p := faultHistory(t, gpufault.Move, gpu.NeedsReboot)
	d, began := NewDrainer(p, slog.New(slog.DiscardHandler)), p.now
	p.reconcile(t, d, began, 29*time.Second)
	if task := p.state.View().Task("plain"); task.DesiredStatus != spec.Running {
		t.Fatalf("a task that has just come is moved: %+v", task)
	}
	p.reconcile(t, d, began, 30*time.Second)
	for id, code := range map[string]spec.StopCode{"plain": spec.StopScheduler, "retried": spec.StopPreempted, "preemptible": spec.StopPreempted} {
		task := p.state.View().Task(id)
		if task.DesiredStatus != spec.Stopped || task.StopCode != code || !strings.Contains(task.StoppedReason, "Xid 48") || task.StoppedAsFailed() != (id == "plain") {
			t.Errorf("%+v", task)
		}
	}
	if task := p.state.View().Task("other"); task.DesiredStatus != spec.Running {
		t.Errorf("a task on a GPU that is well: %+v", task)
	}
	index := p.index
	p.reconcile(t, d, began, time.Minute)
	if p.index != index {
		t.Error("they are stopped again and again")
	}
}

func TestTasksStayOnAGPU(t *testing.T) {
	for name, c := range map[string]struct {
		policy gpufault.Policy
		health gpu.Health
	}{
		"whose cluster says nothing":        {"", gpu.NeedsReset},
		"whose cluster keeps them":          {gpufault.Keep, gpu.Lost},
		"that may be well":                  {gpufault.Move, gpu.Suspect},
		"whose state cannot be read":        {gpufault.Move, gpu.Unhealthy},
		"that an administrator quarantines": {gpufault.Move, gpu.Quarantined},
	} {
		t.Run(name, func(t *testing.T) {
			p := faultHistory(t, c.policy, c.health)
			p.reconcile(t, NewDrainer(p, slog.New(slog.DiscardHandler)), p.now, time.Hour)
			if task := p.state.View().Task("plain"); task.DesiredStatus != spec.Running {
				t.Errorf("%+v", task)
			}
		})
	}
}
