package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/quarantine"
	"pinion/raftfsm/spec"
)

func TestAGPUInQuarantineGetsNoTaskUntilItsRelease(t *testing.T) {
	h := newHistory(t)
	first, second := hostWith("h1", 2).GPUs.Devices[0].UUID, hostWith("h1", 2).GPUs.Devices[1].UUID
	h.do(t, PutHost{hostWith("h1", 2)})
	h.running(t, task("t1", "h1", first))
	for _, uuid := range []string{first, second} {
		h.do(t, SetGPUQuarantine{HostID: "h1", UUID: uuid, At: at(3), Quarantine: &quarantine.GPU{By: "alice", Reason: "burns"}})
	}
	wantHealth := func(uuid string, health gpu.Health, problem string) {
		t.Helper()
		if d, _ := h.View().Host("h1").GPUs.Device(uuid); d.Health != health || !strings.Contains(d.Problem, problem) || problem == "" && d.Problem != "" {
			t.Errorf("%s is %s: %q", uuid, d.Health, d.Problem)
		}
	}
	wantHealth(first, gpu.Quarantined, "quarantined by alice since 2")
	wantHealth(second, gpu.Quarantined, "burns")
	if free := h.View().Free("h1"); len(free.GPUs) != 0 || h.View().Task("t1").LastStatus == spec.Stopped || !h.View().Host("h1").HealthAt.Equal(at(3)) {
		t.Errorf("free are %v, the task is %s", free.GPUs, h.View().Task("t1").LastStatus)
	}
	if result := h.launch(t, Launch{Tasks: []*spec.Task{task("t2", "h1", second)}}); len(result.Result.Tasks) != 0 {
		t.Error("a task was given a GPU in quarantine")
	}

	sick := hostWith("h1", 2) // the host says of one that it is sick, and nothing of the quarantine
	sick.GPUs.Devices[0].Health, sick.GPUs.Devices[0].Problem = gpu.Unhealthy, "Xid 79"
	sick.Quarantine = quarantine.List{{UUID: "another"}}
	h.do(t, PutHost{sick})
	wantHealth(first, gpu.Quarantined, "Xid 79")
	if list := h.View().Host("h1").Quarantine; len(list) != 2 {
		t.Errorf("in quarantine are %+v", list)
	}
	for _, uuid := range []string{first, second} {
		h.do(t, SetGPUQuarantine{HostID: "h1", UUID: uuid, At: at(5)})
	}
	wantHealth(first, gpu.Unhealthy, "Xid 79")
	wantHealth(second, gpu.Healthy, "")
	if free := h.View().Free("h1"); !slices.Equal(free.GPUs, []string{second}) {
		t.Errorf("free are %v", free.GPUs)
	}
}

func TestAQuarantineThatChangesNothing(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h1", 1)})
	uuid := hostWith("h1", 1).GPUs.Devices[0].UUID
	command := SetGPUQuarantine{HostID: "h1", UUID: uuid, At: at(3), Quarantine: &quarantine.GPU{By: "alice"}}
	h.do(t, command)
	before := h.snapshot(t)
	h.do(t, command)
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("a second quarantine changed something")
	}
	h.do(t, PutHost{hostWith("h1", 0)}) // the GPU leaves the host, and stays in quarantine
	if _, err := h.try(t, SetGPUQuarantine{HostID: "h1", UUID: uuid, At: at(4)}); err != nil {
		t.Errorf("a GPU that has left is not released: %v", err)
	}
	for _, wrong := range []SetGPUQuarantine{{HostID: "h1", UUID: uuid}, {HostID: "none", UUID: uuid}} {
		if _, err := h.try(t, wrong); !errors.Is(err, spec.ErrNotFound) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func TestTheNumberOfQuarantinesIsBounded(t *testing.T) {
	h := newHistory(t)
	for i := range quarantine.MaxGPUs + 1 {
		host := hostWith("h1", 1)
		host.GPUs.Devices[0].UUID = fmt.Sprintf("GPU-%d", i) // a card that is exchanged again and again
		h.do(t, PutHost{host})
		_, err := h.try(t, SetGPUQuarantine{HostID: "h1", UUID: fmt.Sprintf("GPU-%d", i), At: at(3), Quarantine: &quarantine.GPU{By: "alice"}})
		if (err != nil) != (i == quarantine.MaxGPUs) {
			t.Fatalf("quarantine %d: %v", i+1, err)
		}
	}
}
