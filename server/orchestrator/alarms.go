package orchestrator

import (
	"context"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/scaling"
	"pinion/server/schedule/autoscale"
)

// evaluate finds the state of each alarm whose moment has come, records one that is new, and notes whose actions Scale is to carry out.
func (a *Autoscaler) evaluate(ctx context.Context) {
	now, view := a.proposer.Now(), a.proposer.State().View()
	evaluated := map[string]time.Time{}
	for _, known := range alarm.All(view) {
		moment := autoscale.AlarmMoment(known, now)
		evaluated[known.Name] = moment
		if moment.Equal(a.evaluated[known.Name]) {
			continue
		}
		if verdict, ok := autoscale.Evaluate(known, a.watched(view, known), moment); ok {
			a.record(ctx, known, verdict, now)
			a.trigger(known, verdict)
		}
	}
	a.evaluated = evaluated
}

// watched is the series of an alarm. Of a service that is gone there is none, and has been none for as long as this leader knows.
func (a *Autoscaler) watched(v *raftfsm.View, of *alarm.Alarm) autoscale.Watched {
	if s := v.Service(of.Cluster, of.Service); s != nil {
		if series, known := a.series[seriesKey{s.ID, of.Source()}]; known {
			return series
		}
		return autoscale.Watched{Since: a.proposer.Now()} // since the alarm was put
	}
	return autoscale.Watched{Since: a.began}
}

func (a *Autoscaler) record(ctx context.Context, known *alarm.Alarm, v autoscale.Verdict, now time.Time) {
	if v.Value == known.State.Value {
		return
	}
	state := alarm.State{Value: v.Value, Reason: v.Reason, At: now}
	_, err := a.proposer.Propose(ctx, raftfsm.Wrap(alarm.SetState{Name: known.Name, ConfiguredAt: known.ConfiguredAt, State: state}))
	if err != nil && ctx.Err() == nil {
		a.log.Warn("cannot record the state of an alarm, will try again", "alarm", known.Name, "state", v.Value, "error", err)
	}
}

// trigger notes the policies that an alarm starts in its state: as long as that lasts, once a moment.
func (a *Autoscaler) trigger(known *alarm.Alarm, v autoscale.Verdict) {
	if known.Disabled {
		return
	}
	t := autoscale.Trigger{Alarm: known, Samples: v.Last}
	for _, arn := range known.Actions.ForState(v.Value) {
		if policy, ok := scaling.ParsePolicyARN(arn); ok {
			t.Policies = append(t.Policies, policy.ID)
		}
	}
	if len(t.Policies) > 0 {
		a.triggers = append(a.triggers, t)
	}
}
