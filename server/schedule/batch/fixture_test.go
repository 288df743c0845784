package batch

import (
	"fmt"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// history is a state that commands are applied to. It begins with host "h" of 16 GPUs and work:1, whose containers are
// "main" and "helper", of which only the first is essential.
type history struct {
	*raftfsm.State
	t     tester
	index uint64
	made  int
}

// tester is what a history needs of testing.T and rapid.T.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

func newHistory(t tester) *history {
	h := &history{State: raftfsm.NewState(), t: t}
	h.do(raftfsm.CreatePool{Pool: spec.Pool{ID: "pool", CreatedAt: epoch}})
	host := spec.Host{ID: "h", Name: "h", Cluster: spec.DefaultCluster, Address: "h:7400", CPU: 99999, MemoryMiB: 99999, RegisteredAt: epoch}
	for i := range 16 {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: fmt.Sprint("gpu", i), Index: i, Health: gpu.Healthy})
	}
	h.do(raftfsm.PutHost{Host: host})
	yes, no := true, false
	h.do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "work", RegisteredAt: epoch, Containers: []spec.ContainerDefinition{
		{Name: "main", Image: "busybox", Memory: 1, Essential: &yes}, {Name: "helper", Image: "busybox", Memory: 1, Essential: &no},
	}}})
	return h
}

func (h *history) do(c raftfsm.Command) any {
	h.t.Helper()
	h.index++
	answer, err := h.Apply(h.index, c)
	if err != nil {
		h.t.Fatalf("%T: %v", c, err)
	}
	return answer
}

// tag is "pinion.NAME".
func tag(name, value string) spec.Tag { return spec.Tag{Key: "pinion." + name, Value: value} }

func newTask(id string, tags ...spec.Tag) *spec.Task {
	return &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: "work:1", HostID: "h", Group: "family:work", CPU: 1, MemoryMiB: 1,
		LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, CreatedAt: epoch, Tags: tags,
		Containers: []spec.Container{{ID: id + "-main", Name: "main"}, {ID: id + "-helper", Name: "helper"}}}
}

// launch records tasks.
func (h *history) launch(tasks ...*spec.Task) {
	h.t.Helper()
	results := h.do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: tasks, At: epoch}}}).([]raftfsm.LaunchResult)
	if results[0].Err != nil || results[0].Conflict != "" {
		h.t.Fatalf("%+v", results[0])
	}
}

// gang records a gang "g" of so many tasks "r0", "r1" and so on.
func (h *history) gang(size int, tags ...spec.Tag) {
	h.t.Helper()
	var tasks []*spec.Task
	for rank := range size {
		member := newTask(fmt.Sprint("r", rank), append(tags, tag("gang", "true"))...)
		member.Gang = &spec.GangMember{ID: "g", Rank: rank, Size: size, Port: 29500}
		if rank == 0 {
			member.Ports = []int{29500}
		}
		tasks = append(tasks, member)
	}
	h.launch(tasks...)
}

// runs has a task start.
func (h *history) runs(ids ...string) {
	h.t.Helper()
	for _, id := range ids {
		h.report(spec.TaskReport{TaskID: id, Status: spec.Running, Times: spec.TaskTimes{Started: at(1)}})
	}
}

// exits has a task run and end at a moment with the exit code of its essential container. The other one always fails.
func (h *history) exits(id string, code, seconds int) {
	h.t.Helper()
	h.runs(id)
	failed := 1
	h.report(spec.TaskReport{TaskID: id, Status: spec.Stopped, StopCode: spec.StopEssentialExited, StoppedReason: "Essential container in task exited",
		Times:      spec.TaskTimes{ExecutionStopped: at(seconds), Stopped: at(seconds)},
		Containers: []spec.ContainerReport{{Name: "main", ExitCode: &code}, {Name: "helper", ExitCode: &failed}}})
}

// gpuFails has a task end for an error of its GPU, with exit code 0.
func (h *history) gpuFails(code spec.StopCode, id string) {
	h.t.Helper()
	h.runs(id)
	zero := 0
	h.report(spec.TaskReport{TaskID: id, Status: spec.Stopped, StopCode: code, StoppedReason: spec.GPUFault + "Xid 79", Times: spec.TaskTimes{ExecutionStopped: at(9), Stopped: at(9)},
		Containers: []spec.ContainerReport{{Name: "main", ExitCode: &zero}}})
}

// gone has a task end without a word of its containers.
func (h *history) gone(ids ...string) {
	h.t.Helper()
	for _, id := range ids {
		h.report(spec.TaskReport{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(99)}})
	}
}

func (h *history) report(r spec.TaskReport) {
	h.t.Helper()
	h.do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{r}})
}

// stop asks tasks to stop.
func (h *history) stop(code spec.StopCode, ids ...string) {
	h.t.Helper()
	for _, id := range ids {
		h.do(raftfsm.StopTask{ID: id, Code: code, Reason: "because", At: at(50)})
	}
}

func (h *history) task(id string) *spec.Task { return h.View().Task(id) }

// ids are those of new tasks: n1, n2 and so on.
func (h *history) ids() string {
	h.made++
	return fmt.Sprint("n", h.made)
}

// again is Again for a task, recorded.
func (h *history) again(id string) []*spec.Task {
	h.t.Helper()
	successors := Retry(h.View(), h.task(id), at(100), h.ids)
	if len(successors) > 0 {
		if recorded := h.do(raftfsm.RetryTasks{Tasks: successors}).([]string); len(recorded) != len(successors) {
			h.t.Fatalf("of %d successors %v were recorded", len(successors), recorded)
		}
	}
	return successors
}
