package raftfsm

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

func TestAHostKeepsWhatTheClusterKnowsOfIt(t *testing.T) {
	h := newHistory(t)
	again := hostWith("h1", 2)
	again.RegisteredAt, again.Status, again.Attributes = at(9), spec.HostDraining, map[string]string{"rack": "7"}
	put := h.do(t, PutHost{again}).(*spec.Host)
	if !put.RegisteredAt.Equal(epoch) || put.Status != spec.HostActive || put.Revision != 2 {
		t.Errorf("registered %v, %s, revision %d", put.RegisteredAt, put.Status, put.Revision)
	}
	if put.Attributes["rack"] != "7" || len(put.GPUs.Devices) != 2 {
		t.Errorf("not replaced: %v, %d GPUs", put.Attributes, len(put.GPUs.Devices))
	}
}

func TestAHostThatSaysTheSameAgainChangesNothing(t *testing.T) {
	h := newHistory(t)
	before := h.snapshot(t)
	if again := h.do(t, PutHost{hostWith("h1", 4)}).(*spec.Host); again.Revision != 1 {
		t.Errorf("revision %d", again.Revision)
	}
	if !slices.Equal(before, h.snapshot(t)) {
		t.Error("the state changed")
	}
}

func TestWhenTheHealthOfGPUsChangedIsRemembered(t *testing.T) {
	h := newHistory(t)
	say := func(minute int, health gpu.Health) *spec.Host {
		host := hostWith("h1", 4)
		host.GPUs.Devices[2].Health, host.HealthAt = health, at(minute)
		return h.do(t, PutHost{host}).(*spec.Host)
	}
	for _, c := range []struct {
		minute int
		health gpu.Health
		want   time.Time
	}{
		{1, gpu.Healthy, time.Time{}}, // as it was before anybody noted it
		{2, gpu.Unhealthy, at(2)},
		{3, gpu.Unhealthy, at(2)},
		{4, gpu.Healthy, at(4)},
	} {
		if got := say(c.minute, c.health).HealthAt; !got.Equal(c.want) {
			t.Errorf("minute %d: changed at %v, want %v", c.minute, got, c.want)
		}
	}
}

func TestAHostCannotLeaveItsClusterWithTasks(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	h.running(t, task("t1", "h1"))
	moved := hostWith("h1", 4)
	moved.Cluster = "lab"
	if _, err := h.try(t, PutHost{moved}); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("with a running task: %v", err)
	}
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(2)}})
	if put := h.do(t, PutHost{moved}).(*spec.Host); put.Cluster != "lab" {
		t.Errorf("after it stopped the host is in %s", put.Cluster)
	}
}

func TestAHostNeedsAnIDAndAnActiveCluster(t *testing.T) {
	h := newHistory(t)
	nowhere := hostWith("h2", 0)
	nowhere.Cluster = "nowhere"
	if _, err := h.try(t, PutHost{nowhere}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("unknown cluster: %v", err)
	}
	if _, err := h.try(t, PutHost{hostWith("", 0)}); err == nil {
		t.Error("a host without an id was taken")
	}
}

func TestAGPUThatVanishesStaysWithItsTask(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	less := hostWith("h1", 4)
	less.GPUs.Devices = less.GPUs.Devices[1:]
	less.GPUs.Devices[0].Health = gpu.Unhealthy
	h.do(t, PutHost{less})
	if got := h.View().Task("t1").GPUs(); !slices.Equal(got, []string{"h1-gpu0"}) {
		t.Errorf("the task holds %v", got)
	}
	if free := h.View().Free("h1").GPUs; !slices.Equal(free, []string{"h1-gpu2", "h1-gpu3"}) {
		t.Errorf("offered: %v", free)
	}
}
