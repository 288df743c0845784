package raftfsm

import (
	"maps"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskenv"
)

// gangOn records a gang of gpu:1 with one task on each of the hosts, which hold port 29500 for it on the first.
func gangOn(t *testing.T, h *history, hosts ...string) []*spec.Task {
	t.Helper()
	var tasks []*spec.Task
	for rank, host := range hosts {
		member := task(string(rune('a'+rank)), host, host+"-gpu0")
		member.Gang = &spec.GangMember{ID: "gang", Rank: rank, Size: len(hosts), Port: 29500}
		if rank == 0 {
			member.Ports = []int{29500}
		}
		tasks = append(tasks, member)
	}
	if result := h.launch(t, Launch{Tasks: tasks}); len(result.Result.Tasks) != len(hosts) {
		t.Fatalf("%+v", result)
	}
	return tasks
}

// told is the environment and the ports of the first container of the host's first task.
func told(v *View, host string) (environment map[string]string, ports []spec.PortMapping) {
	assigned, _ := v.Assignments(host)
	container := assigned[0].Definition.Containers[0]
	environment = map[string]string{}
	for _, variable := range container.Environment {
		environment[variable.Name] = variable.Value
	}
	return environment, container.PortMappings
}

func TestTheTasksOfAGangFindOneAnother(t *testing.T) {
	h := newHistory(t)
	second := hostWith("h2", 1)
	second.Address = "[fd00::2]:7400"
	h.do(t, PutHost{second})
	gangOn(t, h, "h1", "h2")
	first, ports := told(h.View(), "h1")
	want := map[string]string{"MASTER_ADDR": "h1", "MASTER_PORT": "29500", "RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "PINION_GANG_HOSTS": "h1,fd00::2", "PINION_TASK_ID": "a"}
	if !maps.Equal(first, want) {
		t.Errorf("rank 0 is told %v", first)
	}
	if !slices.Equal(ports, []spec.PortMapping{{ContainerPort: 29500, HostPort: 29500, Protocol: "tcp"}}) {
		t.Errorf("rank 0 publishes %v", ports)
	}
	want["RANK"], want["PINION_TASK_ID"] = "1", "b"
	if second, ports := told(h.View(), "h2"); !maps.Equal(second, want) || len(ports) != 0 {
		t.Errorf("rank 1 is told %v and publishes %v", second, ports)
	}
	if d := h.View().Definition("gpu:1"); len(d.Containers[0].Environment)+len(d.Containers[0].PortMappings) != 0 {
		t.Errorf("the definition itself was changed: %+v", d.Containers[0])
	}
}

func TestAGangInTheNetworksOfItsHostsPublishesNothing(t *testing.T) {
	for _, mode := range []string{"host", "none"} {
		h := newHistory(t)
		d := definition("gpu", "1")
		d.NetworkMode = mode
		h.do(t, RegisterDefinition{Definition: d})
		member := task("a", "h1", "h1-gpu0")
		member.Definition, member.Gang = "gpu:2", &spec.GangMember{ID: "gang", Size: 1, Port: 29500}
		h.launch(t, Launch{Tasks: []*spec.Task{member}})
		if _, ports := told(h.View(), "h1"); len(ports) != 0 {
			t.Errorf("network mode %s: %v", mode, ports)
		}
	}
}

// Whatever a definition or an override says of them.
func TestATaskIsToldItsIDItsNumberAndItsAttempt(t *testing.T) {
	h := newHistory(t)
	index := 7
	one := task("a", "h1", "h1-gpu0")
	one.ArrayIndex, one.Attempt = &index, 2
	one.Overrides = spec.Box(spec.TaskOverride{Containers: []spec.ContainerOverride{{Name: "main", Environment: []spec.KeyValue{{Name: taskenv.EnvArrayIndex, Value: "12"}, {Name: taskenv.EnvTaskID, Value: "other"}, {Name: "MINE", Value: "1"}}}}})
	h.launch(t, Launch{Tasks: []*spec.Task{one}})
	if got, _ := told(h.View(), "h1"); !maps.Equal(got, map[string]string{"PINION_ARRAY_INDEX": "7", "PINION_ATTEMPT": "2", "PINION_TASK_ID": "a", "MINE": "1"}) {
		t.Errorf("%v", got)
	}
}

func TestATaskThatMayBeTriedAgainKnowsItsFirstAttempt(t *testing.T) {
	h := newHistory(t)
	one := task("a", "h1", "h1-gpu0")
	one.Tags = []spec.Tag{{Key: spec.TagRetries, Value: "1"}}
	h.launch(t, Launch{Tasks: []*spec.Task{one}})
	if got, _ := told(h.View(), "h1"); got[taskenv.EnvAttempt] != "0" {
		t.Errorf("%v", got)
	}
}

func TestTasksOfAGangThatGoesOnAreNotForgotten(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h2", 1)})
	gangOn(t, h, "h1", "h2")
	stopped := func(host, id string) {
		h.report(t, host, spec.TaskReport{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(1)}})
	}
	stopped("h1", "a")
	if forgotten := h.do(t, Reap{Before: at(2)}); forgotten != 0 {
		t.Errorf("%v tasks were forgotten while rank 1 runs", forgotten)
	}
	stopped("h2", "b")
	if forgotten := h.do(t, Reap{Before: at(2)}); forgotten != 2 {
		t.Errorf("%v tasks were forgotten", forgotten)
	}
}
