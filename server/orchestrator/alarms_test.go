package orchestrator

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/spec"
)

// byStep adds two tasks when the alarm says so, but not within a minute of the last time.
var byStep = scaling.Policy{ID: "steps", Name: "steps", Step: &scaling.Stepping{
	Adjustment: scaling.ChangeInCapacity, Steps: []scaling.StepAdjustment{{Lower: "0", By: 2}}, CooldownTime: ptr(60),
}}

// queued is an alarm for five tasks that wait, for two minutes, and starts byStep.
func (p *memProposer) queued(t *testing.T) {
	t.Helper()
	arn := scaling.PolicyName{ID: "steps", Cluster: spec.DefaultCluster, Service: "s0", Name: "steps"}.ARN("us-east-1")
	p.do(t, raftfsm.Wrap(alarm.Put{Alarm: alarm.Alarm{
		Name: "queued", Cluster: spec.DefaultCluster, Service: "s0", Metric: scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.QueueDepth)}, Period: 60, Periods: 2,
		Comparison: alarm.GreaterOrEqual, Threshold: "5", Actions: alarm.Actions{Alarm: []string{arn}}, ConfiguredAt: p.now, State: alarm.State{Value: alarm.InsufficientData},
	}}))
}

func (p *memProposer) stateOf(name string) alarm.Value {
	return alarm.Find(p.state.View(), name).State.Value
}

func TestAnAlarmScalesAServiceForAsLongAsItLasts(t *testing.T) {
	p, a := scaledService(t)
	p.change(t, scaling.Change{PutPolicy: &byStep})
	p.queued(t)
	if got := p.pass(t, a, 4*time.Minute); got != 1 || p.stateOf("queued") != alarm.OK {
		t.Fatalf("%d tasks, %s", got, p.stateOf("queued"))
	}
	p.queue(t, 7)
	if got := p.pass(t, a, time.Minute); got != 1 {
		t.Errorf("%d tasks after one period", got)
	}
	if got := p.pass(t, a, time.Minute+2*scaleInterval); got != 3 || p.stateOf("queued") != alarm.InAlarm {
		t.Fatalf("%d tasks, %s", got, p.stateOf("queued"))
	}
	s := p.state.View().ServiceByID("s0")
	if last := s.Events[len(s.Events)-1].Message; !strings.Contains(last, "alarm queued: waiting tasks of the cluster 7, +2 from 5: +2 tasks: 1 -> 3, policy steps") {
		t.Error(last)
	}
	if got := p.pass(t, a, 4*time.Minute); got != 6 {
		t.Errorf("%d tasks while it lasts, of 6 at most", got)
	}
	for i := range 7 {
		p.do(t, raftfsm.StopTask{ID: "q" + string(rune('0'+i)), At: p.now})
	}
	if got := p.pass(t, a, 3*time.Minute); got != 6 || p.stateOf("queued") != alarm.OK {
		t.Errorf("%d tasks, %s", got, p.stateOf("queued"))
	}
}

// A new leader knows nothing of what was before it: alarms keep their state until it has seen enough, and start nothing meanwhile.
func TestAnAlarmKeepsItsStateWithANewLeader(t *testing.T) {
	p, a := scaledService(t)
	p.change(t, scaling.Change{PutPolicy: &byStep})
	p.queued(t)
	p.queue(t, 7)
	if got := p.pass(t, a, 4*time.Minute); got < 3 || p.stateOf("queued") != alarm.InAlarm {
		t.Fatalf("%d tasks, %s", got, p.stateOf("queued"))
	}
	before := p.pass(t, a, 0)
	next := NewAutoscaler(p, a.metrics, slog.New(slog.DiscardHandler))
	if got := p.pass(t, next, time.Minute); got != before || p.stateOf("queued") != alarm.InAlarm {
		t.Errorf("%d tasks, %s", got, p.stateOf("queued"))
	}
}

// An alarm whose service is gone has no data, and one whose actions are disabled starts nothing.
func TestAlarmsThatStartNothing(t *testing.T) {
	p, a := scaledService(t)
	p.change(t, scaling.Change{PutPolicy: &byStep})
	p.queued(t)
	p.queue(t, 7)
	disabled := *alarm.Find(p.state.View(), "queued")
	disabled.Disabled = true
	p.do(t, raftfsm.Wrap(alarm.Put{Alarm: disabled}))
	if got := p.pass(t, a, 4*time.Minute); got != 1 || p.stateOf("queued") != alarm.InAlarm {
		t.Errorf("%d tasks, %s", got, p.stateOf("queued"))
	}
	configured := alarm.Find(p.state.View(), "queued").ConfiguredAt
	disabled.Service = "none"
	p.do(t, raftfsm.Wrap(alarm.Put{Alarm: disabled, Over: configured}))
	if p.pass(t, a, 5*time.Minute); p.stateOf("queued") != alarm.InsufficientData {
		t.Errorf("%s of a service that is gone", p.stateOf("queued"))
	}
	if len(a.series) != 0 {
		t.Errorf("series are kept that nobody follows: %d", len(a.series))
	}
}
