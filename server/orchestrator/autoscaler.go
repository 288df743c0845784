package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/metrics"
	"pinion/server/schedule/autoscale"
)

// scaleInterval is how often metrics become samples and services are scaled.
const scaleInterval = 10 * time.Second

// Autoscaler is the reconciler of scalable targets and alarms: it carries out scheduled actions, and what package autoscale decides. The series
// that it decides by begin with the leader term, so a new leader takes nothing away before it has seen a whole window. One goroutine uses it.
type Autoscaler struct {
	proposer Proposer
	metrics  *metrics.Store
	log      *slog.Logger
	series   map[seriesKey]autoscale.Watched

	began     time.Time            // of the first sample
	evaluated map[string]time.Time // alarms by name: the moment that they were evaluated for last
	triggers  []autoscale.Trigger  // of alarms that were evaluated since Scale
	scheduled *scheduledActions
}

type seriesKey struct {
	serviceID string
	source    metric.Name
}

// NewAutoscaler makes the reconciler for one leader term.
func NewAutoscaler(p Proposer, m *metrics.Store, log *slog.Logger) *Autoscaler {
	return &Autoscaler{proposer: p, metrics: m, log: log, series: map[seriesKey]autoscale.Watched{}, evaluated: map[string]time.Time{}, scheduled: newScheduledActions()}
}

// Loop scales until ctx ends: at each interval, and at once when requests wait.
func (a *Autoscaler) Loop(ctx context.Context) {
	ticker := time.NewTicker(scaleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.sample()
			a.evaluate(ctx)
		case <-a.metrics.Waiting():
		case <-ctx.Done():
			return
		}
		a.Scale(ctx)
	}
}

// maxSeries is how long samples are kept: the longest window of a policy, or of an alarm that is evaluated each minute.
const maxSeries = max(autoscale.MaxInWindow, alarm.MaxSpan) + autoscale.MaxAlarmStride

// sample adds the present metrics to the series that policies and alarms follow, and drops those that nobody follows any more.
func (a *Autoscaler) sample() {
	now, view := a.proposer.Now(), a.proposer.State().View()
	if a.began.IsZero() {
		a.began = now
	}
	sums := a.metrics.Sums(now)
	m := measures{sums.Of, allProxies(view, sums), map[string]int{}}
	series := map[seriesKey]autoscale.Watched{}
	for _, s := range followedServices(view) {
		for _, source := range alarm.Followed(view, s) {
			key := seriesKey{s.ID, source}
			watched, known := a.series[key]
			if !known {
				watched.Since = now
			}
			if sample, measured := sampleOf(view, s, source, m); measured {
				sample.At = now
				watched.Samples = append(watched.Samples, sample)
			}
			old, _ := slices.BinarySearchFunc(watched.Samples, now.Add(-maxSeries), func(s autoscale.Sample, at time.Time) int { return s.At.Compare(at) })
			watched.Samples = watched.Samples[old:]
			series[key] = watched
		}
	}
	a.series = series
}

// followedServices are those that have a scalable target or an alarm.
func followedServices(v *raftfsm.View) (all []*service.Service) {
	seen := map[string]bool{}
	add := func(s *service.Service) {
		if s != nil && !seen[s.ID] {
			seen[s.ID] = true
			all = append(all, s)
		}
	}
	for _, t := range scaling.All(v) {
		add(v.ServiceByID(t.ServiceID))
	}
	for _, a := range alarm.All(v) {
		add(v.Service(a.Cluster, a.Service))
	}
	return all
}

// measures is what samples are made of.
type measures struct {
	sums    map[metrics.Key]float64
	proxied bool           // every proxy has told what it sends
	queued  map[string]int // waiting tasks by cluster, as they are counted
}

// allProxies reports whether every host that is not LOST has told what its proxy sends.
func allProxies(v *raftfsm.View, sums metrics.Sums) bool {
	return !slices.ContainsFunc(v.Hosts(""), func(h *spec.Host) bool { return !h.Lost() && !sums.Proxies[h.ID] })
}

// waitingFor counts the requests that wait for a service: those of the target groups that its tasks are registered with.
func waitingFor(v *raftfsm.View, s *service.Service, waiting map[string]int) (n int) {
	for _, group := range s.Groups(v) {
		n += waiting[group]
	}
	return n
}

// sampleOf is the present sample of a source, if anything was measured.
func sampleOf(v *raftfsm.View, s *service.Service, source metric.Name, m measures) (sample autoscale.Sample, measured bool) {
	if source == metric.QueueDepth {
		if _, counted := m.queued[s.Cluster]; !counted {
			m.queued[s.Cluster] = queueDepth(v, s.Cluster)
		}
		return autoscale.Sample{Total: float64(m.queued[s.Cluster]), Count: s.Desired}, true
	}
	sample.Partial = source.OfProxies() && !m.proxied
	for _, task := range v.ServiceTasks(s.ID) {
		if value, known := m.sums[metrics.Key{TaskID: task.ID, Source: source}]; (known || source.OfProxies()) && task.LastStatus == spec.Running {
			if value, known = utilization(task, source, value); known {
				sample.Total, sample.Count = sample.Total+value, sample.Count+1
			}
		}
	}
	return sample, sample.Count > 0
}

// utilization turns what a task uses into percent of what it has reserved. A task that has reserved nothing has no utilization.
func utilization(t *spec.Task, source metric.Name, value float64) (percent float64, known bool) {
	reserved := t.CPU
	switch source {
	case metric.CPU:
	case metric.Memory:
		reserved = t.MemoryMiB
	default:
		return value, true
	}
	return 100 * value / float64(max(reserved, 1)), reserved > 0
}

// queueDepth counts the tasks of a cluster that wait for a place and are not of services: what is of one is its own doing.
func queueDepth(v *raftfsm.View, cluster string) (n int) {
	for t := range v.QueuedTasks(cluster) {
		if t.Service == nil {
			n++
		}
	}
	return n
}

// Scale carries out the scheduled actions that are due, and then the decisions of the policies, by the capacities that these have left.
func (a *Autoscaler) Scale(ctx context.Context) {
	now := a.proposer.Now()
	a.runScheduled(ctx, now)
	view := a.proposer.State().View()
	waiting := a.metrics.Sums(now).Waiting
	triggers := a.triggers
	a.triggers = nil // what they start is decided once
	for _, t := range scaling.All(view) {
		s := view.ServiceByID(t.ServiceID)
		rollout := view.ServiceRollout(s.Primary().Rollout)
		facts := autoscale.Facts{
			Target: t, Desired: s.Desired, Deploying: rollout != nil && !rollout.IsFinished(), Waiting: waitingFor(view, s, waiting), Now: now,
			Series:   func(source metric.Name) []autoscale.Sample { return a.series[seriesKey{t.ServiceID, source}].Samples },
			Triggers: triggers,
		}
		if move, ok := autoscale.Decide(facts); ok {
			a.change(ctx, t, scaling.Change{Scale: &move})
		}
	}
}

// runScheduled carries out the scheduled actions that are due.
func (a *Autoscaler) runScheduled(ctx context.Context, now time.Time) {
	targets := scaling.All(a.proposer.State().View())
	due := a.scheduled.due(targets, now)
	for i, t := range targets {
		for _, name := range due[i] {
			a.change(ctx, t, scaling.Change{Run: &scaling.Run{Action: name}})
		}
	}
}

func (a *Autoscaler) change(ctx context.Context, t *scaling.Target, change scaling.Change) {
	activityID := id.NewUUID()
	answer, err := a.proposer.Propose(ctx, raftfsm.Wrap(scaling.ChangeTarget{Cluster: t.Cluster, Service: t.Service, Change: change, ID: activityID, At: a.proposer.Now()}))
	if after, _ := answer.(*scaling.Target); after != nil && err == nil {
		if activity := after.Activity(activityID); activity != nil && activity.Failed != "" {
			a.log.Warn("cannot carry out a scheduled action", "service", t.Service, "cluster", t.Cluster, "cause", activity.Cause, "error", activity.Failed)
		}
	}
	if err != nil && !errors.Is(err, scaling.ErrMoved) && ctx.Err() == nil {
		a.log.Warn("cannot scale a service, will try again", "service", t.Service, "cluster", t.Cluster, "error", err)
	}
}
