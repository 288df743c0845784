package server

import (
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestWhatTheSilenceOfAHostMeans(t *testing.T) {
	const pool = time.Minute
	lost := day0
	task := func(id, after string) *spec.Task {
		task := &spec.Task{ID: id, LastStatus: spec.Running}
		if after != "" {
			task.Tags = []spec.Tag{{Key: spec.TagLostAfter, Value: after}}
		}
		return task
	}
	over := task("over", "10s")
	over.LastStatus = spec.Stopped
	for _, c := range []struct {
		name    string
		lostAt  time.Time
		tasks   []*spec.Task
		silence time.Duration
		want    loss
	}{
		{"not yet", time.Time{}, []*spec.Task{task("a", "")}, 50 * time.Second, loss{false, []string{"a"}, lossCheckInterval}},
		{"in a moment", time.Time{}, nil, pool - time.Millisecond, loss{false, nil, time.Millisecond}},
		{"with all its tasks", time.Time{}, []*spec.Task{task("a", ""), over}, pool, loss{true, nil, lossCheckInterval}},
		{"but for those with more time", time.Time{}, []*spec.Task{task("a", ""), task("b", "10m"), task("c", "never")}, pool, loss{true, []string{"b", "c"}, lossCheckInterval}},
		{"before its time, for a task with less", time.Time{}, []*spec.Task{task("a", ""), task("b", "10s")}, 10 * time.Second, loss{true, []string{"a"}, lossCheckInterval}},
		{"nothing new of a lost host", lost, []*spec.Task{task("b", "10m"), task("c", "never")}, 5 * time.Minute, loss{false, []string{"b", "c"}, lossCheckInterval}},
		{"the time of a task is over that was kept", lost, []*spec.Task{task("b", "10m"), task("c", "never")}, 10 * time.Minute, loss{true, []string{"c"}, lossCheckInterval}},
		{"a lost host has nothing any more", lost, []*spec.Task{over}, time.Hour, loss{false, nil, lossCheckInterval}},
	} {
		got := evaluateLoss(&spec.Host{LostAt: c.lostAt}, c.tasks, c.silence, pool)
		if got.due != c.want.due || !slices.Equal(got.keep, c.want.keep) || got.next != c.want.next {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
}

func TestTasksOutlastTheLossOfTheirHostAsPromised(t *testing.T) {
	p := newPool(t)
	var c clock
	p.now = func() time.Time { return time.Now().Add(time.Duration(c.passed.Load())) }
	first := p.found(nil)
	second := p.join(1)[0]
	eventually(t, "the second host is known", func() bool { return p.view().Host(second.cfg.HostID) != nil })
	var plain, patient, loyal *spec.Task
	for after, task := range map[string]**spec.Task{"": &plain, "10m": &patient, "never": &loyal} {
		request := runOf(define(t, first.member.localServer(), 1))
		request.Hosts = []string{second.cfg.HostID}
		if after != "" {
			request.Tags = []spec.Tag{{Key: spec.TagLostAfter, Value: after}}
		}
		*task = run(t.Context(), t, first.member.localServer(), request).Tasks[0]
	}
	status := func(task *spec.Task) spec.Status { return p.view().Task(task.ID).LastStatus }
	eventually(t, "they run", func() bool {
		return status(plain) == spec.Running && status(patient) == spec.Running && status(loyal) == spec.Running
	})

	second.close()
	c.pass(65 * time.Second)
	eventually(t, "the host is lost, and the task without a promise", func() bool { return status(plain) == spec.Stopped })
	if !p.view().Host(second.cfg.HostID).Lost() || status(patient) != spec.Running || status(loyal) != spec.Running {
		t.Errorf("the others are %s and %s", status(patient), status(loyal))
	}
	c.pass(10 * time.Minute)
	eventually(t, "the time of the next is over", func() bool { return status(patient) == spec.Stopped })
	if status(loyal) != spec.Running {
		t.Errorf("the last is %s", status(loyal))
	}
	if err := second.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host is back and runs what it should", func() bool {
		return !p.view().Host(second.cfg.HostID).Lost() && second.agent.runs(loyal.ID) && !second.agent.runs(plain.ID) && !second.agent.runs(patient.ID)
	})
}
