package orchestrator

import (
	"testing"
	"time"

	"pinion/raftfsm/scaling"
)

// A scheduled action that cannot be carried out holds up no policy of its target, and is not tried again before its next time.
func TestAScheduledActionThatFailsHoldsUpNoPolicy(t *testing.T) {
	p, a := scaledService(t)
	p.change(t, scaling.Change{PutPolicy: &byQueue})
	p.change(t, scaling.Change{PutAction: &scaling.ScheduledAction{ID: "x", Name: "night", Schedule: "rate(1 hour)", Min: ptr(10), CreatedAt: p.now}})
	p.now = p.now.Add(time.Hour)
	p.queue(t, 7)
	if got := p.pass(t, a, scaleInterval); got != 4 {
		t.Errorf("%d tasks for a queue of 7", got)
	}
	p.pass(t, a, time.Minute)
	failed := 0
	for _, activity := range scaling.Find(p.state.View(), "s0").Activities {
		if activity.Failed != "" {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d attempts at what cannot be done", failed)
	}
}
