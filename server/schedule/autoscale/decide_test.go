package autoscale

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// follows is a policy by the queue with a target per replica, and cooldowns in seconds.
func follows(name, target string, out, in int) scaling.Policy {
	return scaling.Policy{Name: name, Tracking: scaling.Tracking{
		Target: scaling.Number(target), OutCooldown: &out, InCooldown: &in, Metric: scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.QueueDepth)},
	}}
}

// steady is a series that has had one value for so long, each 10 s.
func steady(total float64, count int, span time.Duration) (series []Sample) {
	for at := now.Add(-span); !at.After(now); at = at.Add(10 * time.Second) {
		series = append(series, Sample{At: at, Total: total, Count: count})
	}
	return series
}

func facts(desired int, series []Sample, policies ...scaling.Policy) Facts {
	return Facts{
		Target: &scaling.Target{Min: 1, Max: 6, Policies: policies}, Desired: desired, Now: now,
		Series: func(metric.Name) []Sample { return series },
	}
}

func TestTargetTracking(t *testing.T) {
	p, hour := follows("load", "2", 60, 300), time.Hour
	for name, c := range map[string]struct {
		f     Facts
		to    int
		cause string
	}{
		"the total by the target, rounded up":        {facts(1, steady(7.5, 1, time.Minute), p), 4, "waiting tasks of the cluster per replica 7.5 of 2: 1 -> 4, policy load"},
		"no more than the maximum":                   {facts(2, steady(99, 2, time.Minute), p), 6, "waiting tasks of the cluster per replica 49.5 of 2: 2 -> 6 (50 needed, maximum capacity 6), policy load"},
		"at its target it stays":                     {f: facts(3, steady(6, 3, hour), p)},
		"a replica that was not measured is no load": {facts(2, steady(6, 1, time.Minute), p), 3, "2 -> 3"},
		"in, when the whole window agrees":           {facts(5, steady(4, 5, hour), p), 2, "waiting tasks of the cluster per replica 0.8 of 2: 5 -> 2"},
		"no less than the minimum":                   {facts(5, steady(0, 5, hour), p), 1, "(0 needed, minimum capacity 1)"},
		"not in before the window is over":           {f: facts(5, steady(4, 5, 4*time.Minute), p)},
		"not in for a window that was busy once":     {f: facts(5, append([]Sample{{At: now.Add(-299 * time.Second), Total: 10, Count: 5}}, steady(4, 5, 280*time.Second)...), p)},
		"not in without data":                        {f: facts(5, nil, p)},
		"not in by data that is old":                 {f: facts(5, steady(4, 5, hour)[:355], p)},
		"not out by data that is old":                {f: facts(1, steady(9, 1, hour)[:355], p)},
		"not in while some proxy has told nothing":   {f: facts(5, append(steady(4, 5, hour)[:360], Sample{At: now, Total: 4, Count: 5, Partial: true}), p)},
		"out by what the others have told":           {facts(1, []Sample{{At: now, Total: 8, Count: 1, Partial: true}}, p), 4, "1 -> 4"},
		"what is not measured counts as busy":        {facts(5, steady(2, 2, hour), p), 4, "5 -> 4"},
		"the largest of several":                     {facts(1, steady(8, 1, time.Minute), p, follows("other", "1.6", 60, 300)), 5, "policy other"},
		"all have to agree":                          {f: facts(5, steady(4, 5, hour), p, follows("other", "0.8", 60, 300))},
		"a short spike is averaged away":             {f: facts(2, []Sample{{At: now.Add(-20 * time.Second), Total: 3, Count: 2}, {At: now.Add(-10 * time.Second), Total: 3, Count: 2}, {At: now, Total: 6, Count: 2}}, p)},
	} {
		move, ok := Decide(c.f)
		if ok != (c.to != 0) || ok && (move.To != c.to || move.From != c.f.Desired || !strings.Contains(move.Cause, c.cause)) {
			t.Errorf("%s: %v %+v", name, ok, move)
		}
	}
}

func TestWhatKeepsAPolicyFromScaling(t *testing.T) {
	out, in := facts(1, steady(9, 1, time.Hour), follows("load", "2", 60, 300)), facts(5, steady(1, 5, time.Hour), follows("load", "2", 60, 300))
	for name, c := range map[string]struct {
		f      Facts
		change func(*Facts)
	}{
		"scaling out is suspended":      {out, func(f *Facts) { f.Target.Suspended.Out = true }},
		"the cooldown of scaling out":   {out, func(f *Facts) { f.Target.Out = scaling.Step{At: now.Add(-59 * time.Second), By: 4} }},
		"scaling in is suspended":       {in, func(f *Facts) { f.Target.Suspended.In = true }},
		"the cooldown of scaling in":    {in, func(f *Facts) { f.Target.In = scaling.Step{At: now.Add(-299 * time.Second), By: 1} }},
		"a scale-out a moment ago":      {in, func(f *Facts) { f.Target.Out = scaling.Step{At: now.Add(-299 * time.Second), By: 1} }},
		"a rollout":                     {in, func(f *Facts) { f.Deploying = true }},
		"a policy that only scales out": {in, func(f *Facts) { f.Target.Policies[0].Tracking.NoScaleIn = true }},
	} {
		f, target := c.f, *c.f.Target
		target.Policies = append([]scaling.Policy(nil), target.Policies...)
		f.Target = &target
		if _, ok := Decide(f); !ok {
			t.Errorf("%s: it would not scale anyway", name)
		}
		if c.change(&f); func() bool { _, ok := Decide(f); return ok }() {
			t.Errorf("%s: it scaled", name)
		}
	}
	out.Target.Out = scaling.Step{At: now.Add(-time.Second), By: 1}
	if move, ok := Decide(out); !ok || move.To != 5 {
		t.Errorf("a larger step than the last one waits: %+v", move)
	}
}

func TestScalingToZeroAndBack(t *testing.T) {
	f := facts(2, steady(0, 2, time.Hour), follows("load", "2", 60, 300))
	f.Target.Min = 0
	if move, ok := Decide(f); !ok || move.To != 0 {
		t.Errorf("%+v", move)
	}
	f.Series = func(metric.Name) []Sample { return steady(0.1, 2, time.Hour) }
	if move, ok := Decide(f); !ok || move.To != 1 {
		t.Errorf("a little load needs a task: %+v", move)
	}
	f.Desired, f.Series = 0, func(metric.Name) []Sample { return nil }
	if _, ok := Decide(f); ok {
		t.Error("nothing wakes it")
	}
	f.Waiting, f.Target.Out.At = 3, now
	if move, ok := Decide(f); !ok || move.To != 1 || move.Cause != "requests that wait 3: 0 -> 1" {
		t.Errorf("%+v", move)
	}
	if f.Target.Suspended.Out = true; func() bool { _, ok := Decide(f); return ok }() {
		t.Error("suspended, and it was woken")
	}
}

// TestAnyDecisionIsWithinBounds: whatever the facts, a move stays within the capacities, goes where the load asks for, and a load that does not
// change comes to rest.
func TestAnyDecisionIsWithinBounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		least := rapid.IntRange(0, 5).Draw(r, "min")
		target := &scaling.Target{Min: least, Max: least + rapid.IntRange(0, 20).Draw(r, "more")}
		for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(0, 3).Draw(r, "policies")] {
			p := follows(name, string(scaling.NumberOf(rapid.Float64Range(0.01, 50).Draw(r, "target"))), rapid.IntRange(0, 600).Draw(r, "out"), rapid.IntRange(0, 600).Draw(r, "in"))
			p.Tracking.NoScaleIn = rapid.Bool().Draw(r, "no scale in")
			target.Policies = append(target.Policies, p)
		}
		load := rapid.Float64Range(0, 1e6).Draw(r, "load")
		f := Facts{Target: target, Desired: rapid.IntRange(0, 40).Draw(r, "desired"), Now: now, Waiting: rapid.IntRange(0, 2).Draw(r, "waiting")}
		covered := rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(r, "covered")
		f.Series = func(metric.Name) []Sample { return steady(load, f.Desired, covered) }
		out := true
		for range 5 {
			move, ok := Decide(f)
			if !ok {
				return
			}
			if move.From != f.Desired || move.To == f.Desired || move.To != target.Within(move.To) || move.Cause == "" {
				r.Fatalf("%+v", move)
			}
			if up := move.To > move.From; up && !out {
				r.Fatalf("a load that stays is followed up and down: %+v", move)
			} else {
				out = up
			}
			f.Desired, target.Out, target.In = move.To, scaling.Step{}, scaling.Step{}
		}
		r.Fatal("it does not come to rest")
	})
}
