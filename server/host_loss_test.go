package server

import (
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

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
