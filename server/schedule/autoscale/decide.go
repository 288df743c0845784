package autoscale

import (
	"fmt"
	"math"
	"time"

	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
)

const (
	// OutWindow is what of a series decides whether to scale out: its average over so long, of which the last sample is not older.
	OutWindow = 30 * time.Second
	// MinInWindow is the least of a series that decides whether to scale in.
	MinInWindow = time.Minute
	// MaxInWindow bounds it, as series do.
	MaxInWindow = 3 * time.Hour
)

// InWindow is how long a load has to be gone before tasks are taken away: as long as the policy's cooldown.
func InWindow(t *scaling.Tracking) time.Duration {
	_, in := t.Cooldowns()
	return min(max(in, MinInWindow), MaxInWindow)
}

// Sample is a metric at a moment: its total over the replicas that were measured. Of a partial one there may be more: it takes nothing away.
type Sample struct {
	At      time.Time
	Total   float64
	Count   int
	Partial bool
}

// Facts are what a decision rests on.
type Facts struct {
	Target    *scaling.Target
	Desired   int
	Deploying bool                       // a rollout or rollback is in progress: nothing is taken away meanwhile
	Waiting   int                        // requests that wait because no task serves them
	Series    func(metric.Name) []Sample // the oldest first
	Triggers  []Trigger
	Now       time.Time
}

// Decide is the move that the policies of a target want now; ok when there is one.
//
// Each policy wants as many tasks as bring the metric down to its target: the total by the target, rounded up. The largest number scales out.
// To scale in, all policies that may have to agree, over their whole window: a policy without data wants nothing taken away, and a replica
// that was not measured counts as one that is just busy enough. From 0 a waiting request is enough. Step scaling policies that alarms start come
// beside them: the larger number wins, out and in.
func Decide(f Facts) (move scaling.Decision, ok bool) {
	if f.Desired == 0 && f.Waiting > 0 && f.Target.Within(1) > 0 && !f.Target.Suspended.Out {
		to := f.Target.Within(1)
		return scaling.Decision{From: 0, To: to, Cause: fmt.Sprintf("requests that wait %d: 0 -> %d", f.Waiting, to)}, true
	}
	out := f.most(f.out, func(*scaling.Policy) bool { return true })
	tracked, _ := f.scaleOut(out)
	if move := larger(tracked, f.stepOut()); move != (scaling.Decision{}) {
		return move, true
	}
	tracked, _ = f.scaleIn(out)
	move = larger(tracked, f.stepIn(out))
	return move, move != (scaling.Decision{})
}

// larger is the move to more tasks; a zero one is none.
func larger(a, b scaling.Decision) scaling.Decision {
	if a == (scaling.Decision{}) || b != (scaling.Decision{}) && b.To > a.To {
		return b
	}
	return a
}

// most is the vote for the largest number among those of some policies.
func (f *Facts) most(of func(*scaling.Policy) recommendation, among func(*scaling.Policy) bool) (largest recommendation) {
	for i := range f.Target.Policies {
		if p := &f.Target.Policies[i]; p.Step == nil && among(p) {
			if v := of(p); v.known() && (!largest.known() || v.want > largest.want) {
				largest = v
			}
		}
	}
	return largest
}

// recommendation is how many tasks one policy wants, and why; without a policy it does not know.
type recommendation struct {
	policy *scaling.Policy
	want   int
	each   float64 // the measure of a replica
	step   string  // the cause, when it is a step of an alarm
}

func (v recommendation) known() bool { return v.policy != nil }

// cause is the arithmetic of the vote, in words.
func (v recommendation) cause() string {
	if v.step != "" {
		return v.step
	}
	source, _ := v.policy.Tracking.Metric.Source()
	return fmt.Sprintf("%s %s of %s", source.Words(), number(v.each), number(v.policy.Tracking.Target.Float()))
}

// out is what a policy wants by the average over OutWindow.
func (f *Facts) out(p *scaling.Policy) recommendation {
	var sum, replicas float64
	n := 0
	for _, s := range f.since(p, OutWindow) {
		sum, replicas, n = sum+s.Total, replicas+float64(s.Count), n+1
	}
	if n == 0 {
		return recommendation{}
	}
	return f.recommend(p, sum/float64(n), replicas/float64(n), 0)
}

// in is what the busiest moment of a policy's window wants, when the series covers it.
func (f *Facts) in(p *scaling.Policy) (busiest recommendation) {
	window := InWindow(&p.Tracking)
	samples := f.since(p, window)
	if len(samples) == 0 || samples[0].At.After(f.Now.Add(-window+OutWindow)) || samples[len(samples)-1].At.Before(f.Now.Add(-OutWindow)) {
		return recommendation{}
	}
	for i, s := range samples {
		if s.Partial {
			return recommendation{}
		}
		if v := f.recommend(p, s.Total, float64(s.Count), max(0, f.Desired-s.Count)); i == 0 || v.want > busiest.want {
			busiest = v
		}
	}
	return busiest
}

// since are the samples of a policy's series that are not older than a span of time.
func (f *Facts) since(p *scaling.Policy, span time.Duration) []Sample {
	source, err := p.Tracking.Metric.Source()
	if err != nil {
		return nil // it was checked
	}
	all := f.Series(source)
	from := len(all)
	for from > 0 && !all[from-1].At.Before(f.Now.Add(-span)) {
		from--
	}
	return all[from:]
}

// recommend returns what a total over measured replicas wants beside those that were not measured.
func (f *Facts) recommend(p *scaling.Policy, total, replicas float64, unmeasured int) recommendation {
	const tolerance = 1e-9 // of a quotient that is whole but for its last bits
	target := p.Tracking.Target.Float()
	needed := math.Ceil(total/target - tolerance)
	want := int(min(max(needed, 0), math.MaxInt32)) + unmeasured
	return recommendation{policy: p, want: want, each: total / max(replicas, 1)}
}

func (f *Facts) scaleOut(v recommendation) (scaling.Decision, bool) {
	to := f.Target.Within(v.want)
	if !v.known() || to <= f.Desired || f.Target.Suspended.Out {
		return scaling.Decision{}, false
	}
	cooldown, _ := v.policy.Tracking.Cooldowns()
	if f.coolingOut(cooldown) && to-f.Desired <= f.Target.Out.By {
		return scaling.Decision{}, false // only a larger step than the last one comes before the end of the cooldown
	}
	return f.move(v, to), true
}

func (f *Facts) coolingOut(cooldown time.Duration) bool {
	return f.Desired > 0 && f.Now.Before(f.Target.Out.At.Add(cooldown))
}

func (f *Facts) scaleIn(out recommendation) (scaling.Decision, bool) {
	mayScaleIn := func(p *scaling.Policy) bool { return !p.Tracking.NoScaleIn }
	v := f.most(f.in, mayScaleIn)
	for i := range f.Target.Policies {
		if p := &f.Target.Policies[i]; p.Step == nil && mayScaleIn(p) && !f.in(p).known() {
			return scaling.Decision{}, false // no data, no scale in
		}
	}
	if !v.known() || !f.mayScaleIn() {
		return scaling.Decision{}, false
	}
	to := f.Target.Within(v.want)
	if out.known() {
		to = max(to, f.Target.Within(out.want)) // what a policy needs now that may not scale in itself
	}
	if _, cooldown := v.policy.Tracking.Cooldowns(); to >= f.Desired || f.coolingIn(cooldown) {
		return scaling.Decision{}, false
	}
	return f.move(v, to), true
}

func (f *Facts) mayScaleIn() bool { return !f.Deploying && f.Waiting == 0 && !f.Target.Suspended.In }

// coolingIn reports whether the last step is no older than the cooldown: what was added is not taken away by what was measured before.
func (f *Facts) coolingIn(cooldown time.Duration) bool {
	return f.Now.Before(f.Target.In.At.Add(cooldown)) || f.Now.Before(f.Target.Out.At.Add(cooldown))
}

func (f *Facts) move(v recommendation, to int) scaling.Decision {
	return scaling.Decision{From: f.Desired, To: to, Cause: fmt.Sprintf("%s: %d -> %d%s, policy %s", v.cause(), f.Desired, to, f.limit(v.want), v.policy.Name)}
}

// limit says which capacity keeps the service from a number, empty when none does.
func (f *Facts) limit(want int) string {
	switch {
	case want > f.Target.Max:
		return fmt.Sprintf(" (%d needed, maximum capacity %d)", want, f.Target.Max)
	case want < f.Target.Min:
		return fmt.Sprintf(" (%d needed, minimum capacity %d)", want, f.Target.Min)
	}
	return ""
}

// number is a number with three digits behind the point at most.
func number(f float64) string { return fmt.Sprint(math.Round(f*1000) / 1000) }
