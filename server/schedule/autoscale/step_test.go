package autoscale

import (
	"testing"
	"time"

	"pinion/raftfsm/alarm"
	"pinion/raftfsm/scaling"
)

// stepped are the facts of a service with so many tasks, whose alarm for more than 70 percent, or for less, has seen some values.
func stepped(desired int, comparison alarm.Comparison, s scaling.Stepping, values ...float64) Facts {
	f := facts(desired, nil, scaling.Policy{ID: "p", Name: "steps", Step: &s})
	a := busy(1, 1)
	a.Comparison = comparison
	f.Target.Max, f.Triggers = 20, []Trigger{{Alarm: a, Policies: []string{"p"}, Samples: values}}
	return f
}

// adds has 2 tasks more, and 5 from 20 percent above the threshold on; takes has one less.
var (
	adds  = scaling.Stepping{Adjustment: scaling.ChangeInCapacity, Steps: []scaling.StepAdjustment{{Lower: "0", Upper: "20", By: 2}, {Lower: "20", By: 5}}}
	takes = scaling.Stepping{Adjustment: scaling.ChangeInCapacity, Steps: []scaling.StepAdjustment{{Upper: "0", By: -1}}}
)

func TestAnAlarmCarriesOutAStep(t *testing.T) {
	half := scaling.Stepping{Adjustment: scaling.PercentChangeInCapacity, Steps: []scaling.StepAdjustment{{Lower: "0", By: 50}}, Aggregation: scaling.AggregateMaximum}
	exact := scaling.Stepping{Adjustment: scaling.ExactCapacity, Steps: []scaling.StepAdjustment{{Upper: "0", By: 0}}}
	for name, c := range map[string]struct {
		f     Facts
		to    int
		cause string
	}{
		"the step for the distance":       {stepped(2, alarm.Greater, adds, 80, 91), 4, "alarm busy: CPU utilization in percent 85.5, +15.5 from 70: +2 tasks: 2 -> 4, policy steps"},
		"the larger one further away":     {stepped(2, alarm.Greater, adds, 90), 7, "alarm busy: CPU utilization in percent 90, +20 from 70: +5 tasks: 2 -> 7, policy steps"},
		"by the most of what was seen":    {stepped(4, alarm.Greater, half, 1, 71), 6, "alarm busy: CPU utilization in percent 71, +1 from 70: +50 %: 4 -> 6, policy steps"},
		"no more than the maximum":        {stepped(18, alarm.Greater, adds, 99), 20, "alarm busy: CPU utilization in percent 99, +29 from 70: +5 tasks: 18 -> 20 (23 needed, maximum capacity 20), policy steps"},
		"fewer below":                     {stepped(4, alarm.Less, takes, 10), 3, "alarm busy: CPU utilization in percent 10, -60 from 70: -1 tasks: 4 -> 3, policy steps"},
		"no fewer than the minimum":       {stepped(4, alarm.Less, exact, 10), 1, "alarm busy: CPU utilization in percent 10, -60 from 70: 0 tasks: 4 -> 1 (0 needed, minimum capacity 1), policy steps"},
		"data that are missing and count": {stepped(4, alarm.Less, takes), 3, "alarm busy: CPU utilization in percent no data: -1 tasks: 4 -> 3, policy steps"},
		"no step for it":                  {f: stepped(4, alarm.Greater, takes, 99)},
	} {
		move, ok := Decide(c.f)
		if ok != (c.to != 0) || ok && (move.To != c.to || move.Cause != c.cause) {
			t.Errorf("%s: %v %+v", name, ok, move)
		}
	}
}

// Within a cooldown a larger step adds what it has more than the last one; nothing is taken away.
func TestTheCooldownOfSteps(t *testing.T) {
	f := stepped(4, alarm.Greater, adds, 80)
	f.Target.Out = scaling.Step{At: now.Add(-299 * time.Second), By: 2}
	if move, ok := Decide(f); ok {
		t.Errorf("an equal step is made twice: %+v", move)
	}
	f.Triggers[0].Samples = []float64{95}
	if move, _ := Decide(f); move.To != 7 || move.Added != 5 {
		t.Errorf("%+v", move)
	}
	if f.Target.Out.At = now.Add(-300 * time.Second); func() int { move, _ := Decide(f); return move.To }() != 9 {
		t.Error("the cooldown does not end")
	}
	for name, change := range map[string]func(*Facts){
		"a step in a moment ago":  func(f *Facts) { f.Target.In = scaling.Step{At: now.Add(-time.Second), By: 1} },
		"a step out a moment ago": func(f *Facts) { f.Target.Out = scaling.Step{At: now.Add(-time.Second), By: 1} },
		"suspended":               func(f *Facts) { f.Target.Suspended.In = true },
		"a rollout":               func(f *Facts) { f.Deploying = true },
	} {
		f := stepped(4, alarm.Less, takes, 10)
		if change(&f); func() bool { _, ok := Decide(f); return ok }() {
			t.Errorf("%s: a task is taken away", name)
		}
	}
	f = stepped(4, alarm.Greater, adds, 99)
	if f.Target.Suspended.Out = true; func() bool { _, ok := Decide(f); return ok }() {
		t.Error("suspended, and tasks are added")
	}
}

// Of steps and targets that are tracked, the larger number wins, out and in.
func TestTheLargerOfAStepAndATrackedTargetWins(t *testing.T) {
	f := stepped(2, alarm.Greater, adds, 80)
	f.Target.Policies = append(f.Target.Policies, follows("load", "2", 300, 300))
	f.Series = facts(0, steady(12, 2, time.Minute)).Series
	if move, _ := Decide(f); move.To != 6 {
		t.Errorf("%+v", move)
	}
	f = stepped(4, alarm.Less, takes, 10)
	f.Target.Policies = append(f.Target.Policies, follows("load", "2", 300, 300))
	f.Series = facts(0, steady(7.5, 4, time.Minute)).Series
	if move, ok := Decide(f); ok {
		t.Errorf("a task is taken away that another policy needs: %+v", move)
	}
}
