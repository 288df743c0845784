package autoscale

import (
	"fmt"
	"slices"

	"pinion/raftfsm/alarm"
	"pinion/raftfsm/scaling"
)

// Trigger is an alarm that carries out the actions of its state now.
type Trigger struct {
	Alarm    *alarm.Alarm
	Policies []string  // ids
	Samples  []float64 // the last that there are
}

// stepOut is the move to the largest number that a triggered policy makes, zero when none adds tasks. Within a cooldown it counts from before the
// last step, so that only what a larger step adds beyond that is added.
func (f *Facts) stepOut() (largest scaling.Decision) {
	if f.Target.Suspended.Out {
		return scaling.Decision{}
	}
	f.triggered(func(p *scaling.Policy, t Trigger) {
		from := f.Desired
		if f.coolingOut(p.Step.Cooldown()) {
			from = max(0, from-f.Target.Out.By)
		}
		v := f.step(p, t, from)
		if to := f.Target.Within(v.want); v.known() && to > f.Desired {
			move := f.move(v, to)
			move.Added = to - from
			largest = larger(largest, move)
		}
	})
	return largest
}

// stepIn is the move to the largest number that a triggered policy takes tasks away to, not below what another policy needs now.
func (f *Facts) stepIn(out recommendation) (largest scaling.Decision) {
	if !f.mayScaleIn() {
		return scaling.Decision{}
	}
	f.triggered(func(p *scaling.Policy, t Trigger) {
		v := f.step(p, t, f.Desired)
		to := f.Target.Within(v.want)
		if out.known() {
			to = max(to, f.Target.Within(out.want))
		}
		if v.known() && to < f.Desired && !f.coolingIn(p.Step.Cooldown()) {
			largest = larger(largest, f.move(v, to))
		}
	})
	return largest
}

// triggered visits the step scaling policies that alarms start.
func (f *Facts) triggered(visit func(*scaling.Policy, Trigger)) {
	for _, t := range f.Triggers {
		for i := range f.Target.Policies {
			if p := &f.Target.Policies[i]; p.Step != nil && slices.Contains(t.Policies, p.ID) {
				visit(p, t)
			}
		}
	}
}

// step is what a policy makes of so many tasks by how far the metric is from the alarm's threshold, without a policy when it has no step for it.
// Without data, that is the threshold itself.
func (f *Facts) step(p *scaling.Policy, t Trigger, from int) recommendation {
	distance, says := 0.0, "no data"
	if len(t.Samples) > 0 {
		value := aggregate(p.Step.Aggregation, t.Samples)
		distance = value - t.Alarm.Threshold.Float()
		says = fmt.Sprintf("%s, %s from %s", number(value), signed(number(distance)), t.Alarm.Threshold)
	}
	want, step, ok := p.Step.Capacity(from, distance, t.Alarm.Comparison.Above())
	if !ok {
		return recommendation{}
	}
	return recommendation{policy: p, want: want, step: fmt.Sprintf("alarm %s: %s %s: %s", t.Alarm.Name, words(t.Alarm), says, adjustment(p.Step, step))}
}

// adjustment is a step in words.
func adjustment(s *scaling.Stepping, a scaling.StepAdjustment) string {
	switch s.Adjustment {
	case scaling.ExactCapacity:
		return fmt.Sprintf("%d tasks", a.By)
	case scaling.PercentChangeInCapacity:
		return fmt.Sprintf("%+d %%", a.By)
	}
	return fmt.Sprintf("%+d tasks", a.By)
}

func signed(number string) string {
	if number[0] == '-' {
		return number
	}
	return "+" + number
}
