package server

import (
	"testing"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// joinWithModels adds the host of the tests with a GPU of each model.
func joinWithModels(t testing.TB, s *Server, models ...string) {
	t.Helper()
	host := spec.Host{ID: hostID, Name: "one", Cluster: spec.DefaultCluster, Address: "127.0.0.1:7400", CPU: 1 << 20, MemoryMiB: 1 << 20}
	for i, model := range models {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: model + string(rune('a'+i)), Index: i, Model: model, Health: gpu.Healthy})
	}
	if _, err := s.agents.Join(t.Context(), host, nil); err != nil {
		t.Fatal(err)
	}
}

// Tasks of the queue get one H200 or else two H100, as GPUs become free; what they got is in their overrides, and in the account of the host.
func TestATaskOfTheQueueGetsOneOfItsAlternatives(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWithModels(t, s, "NVIDIA H200", "NVIDIA H100", "NVIDIA H100")
	request := queuedRun(define(t, s, 1), spec.Tag{Key: spec.TagGPUAlternatives, Value: "H200:1/H100:2"})
	has := func(gpus int) func(*spec.Task) bool {
		return func(task *spec.Task) bool {
			return hasPlace(task) && len(task.GPUs()) == gpus && spec.DemandOf(spec.Effective(s.state.View().Definition(task.Definition), task.Overrides.Get())).TotalGPUs() == gpus
		}
	}
	var ids []string
	for range 3 {
		ids = append(ids, run(t.Context(), t, s, request).Tasks[0].ID)
	}
	become(t, s, ids[0], has(1))
	become(t, s, ids[1], has(2))
	if free := s.state.View().Free(hostID); len(free.GPUs) != 0 {
		t.Errorf("%v are free", free.GPUs)
	}
	reportStopped(t, s, ids[1])
	become(t, s, ids[2], has(2))

	unqueued := request
	unqueued.CapacityProvider = ""
	if r := run(t.Context(), t, s, unqueued); len(r.Tasks) != 0 || r.Failures[0].Reason != spec.ReasonGPU {
		t.Errorf("all GPUs are taken: %+v", r)
	}
	reportStopped(t, s, ids[0])
	if r := run(t.Context(), t, s, unqueued); len(r.Tasks) != 1 || !has(1)(r.Tasks[0]) {
		t.Errorf("an H200 is free: %+v", r)
	}
}

// The limit of a key is about the GPUs of the alternative that a task gets, not about those of its definition.
func TestALimitIsAboutTheAlternative(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWithModels(t, s, "NVIDIA H200", "NVIDIA H100", "NVIDIA H100")
	four := 4
	apply(t, s, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: "k", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{MaxGPUs: &four}}}))
	request := queuedRun(define(t, s, 8), spec.Tag{Key: spec.TagGPUAlternatives, Value: "H200:1/H100:2"})
	request.Key = "k"
	for range 2 {
		if task := run(t.Context(), t, s, request).Tasks[0]; len(become(t, s, task.ID, hasPlace).GPUs()) == 0 {
			t.Errorf("%+v", task)
		}
	}
}
