package orchestrator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"pinion/raftfsm"
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

// Autoscaler is the reconciler of scalable targets: it carries out scheduled actions, and what package autoscale decides. The series that it
// decides by begin with the leader term, so a new leader takes nothing away before it has seen a whole window. One goroutine uses it.
type Autoscaler struct {
	proposer Proposer
	metrics  *metrics.Store
	log      *slog.Logger
	series   map[seriesKey][]autoscale.Sample
}

type seriesKey struct {
	serviceID string
	source    metric.Name
}

// NewAutoscaler makes the reconciler for one leader term.
func NewAutoscaler(p Proposer, m *metrics.Store, log *slog.Logger) *Autoscaler {
	return &Autoscaler{proposer: p, metrics: m, log: log, series: map[seriesKey][]autoscale.Sample{}}
}

// Loop scales until ctx ends: at each interval, and at once when requests wait.
func (a *Autoscaler) Loop(ctx context.Context) {
	ticker := time.NewTicker(scaleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.sample()
		case <-a.metrics.Waiting():
		case <-ctx.Done():
			return
		}
		a.Scale(ctx)
	}
}

// sample adds the present metrics to the series of the policies, and drops series that no policy follows any more.
func (a *Autoscaler) sample() {
	now, view := a.proposer.Now(), a.proposer.State().View()
	sums := a.metrics.Sums(now)
	proxied := allProxies(view, sums)
	series := map[seriesKey][]autoscale.Sample{}
	queued := map[string]int{} // by cluster
	for _, t := range raftfsm.ScalableTargets(view) {
		for i := range t.Policies {
			tracking := &t.Policies[i].Tracking
			source, err := tracking.Metric.Source()
			if err != nil {
				continue // it was checked
			}
			key := seriesKey{t.ServiceID, source}
			if _, sampled := series[key]; !sampled {
				series[key] = a.series[key]
				if sample, measured := sampleOf(view, t, source, measures{sums.Of, proxied, queued}); measured {
					sample.At = now
					series[key] = append(series[key], sample)
				}
			}
		}
	}
	for key, samples := range series {
		old, _ := slices.BinarySearchFunc(samples, now.Add(-autoscale.MaxInWindow), func(s autoscale.Sample, at time.Time) int { return s.At.Compare(at) })
		series[key] = samples[old:]
	}
	a.series = series
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
	for group, requests := range waiting {
		if s.Registers(v, group) {
			n += requests
		}
	}
	return n
}

// sampleOf is the present sample of a source, if anything was measured.
func sampleOf(v *raftfsm.View, t *scaling.Target, source metric.Name, m measures) (sample autoscale.Sample, measured bool) {
	if source == metric.QueueDepth {
		if _, counted := m.queued[t.Cluster]; !counted {
			m.queued[t.Cluster] = queueDepth(v, t.Cluster)
		}
		return autoscale.Sample{Total: float64(m.queued[t.Cluster]), Count: v.ServiceByID(t.ServiceID).Desired}, true
	}
	sample.Partial = source.OfProxies() && !m.proxied
	for _, task := range v.ServiceTasks(t.ServiceID) {
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

// Scale carries out the scheduled actions that are due, and the decisions of the policies.
func (a *Autoscaler) Scale(ctx context.Context) {
	now, view := a.proposer.Now(), a.proposer.State().View()
	waiting := a.metrics.Sums(now).Waiting
	for _, t := range raftfsm.ScalableTargets(view) {
		due := dueActions(t, now)
		for _, name := range due {
			a.change(ctx, t, scaling.Change{Run: &scaling.Run{Action: name}})
		}
		if len(due) > 0 {
			continue // what they have changed decides at the next interval
		}
		s := view.ServiceByID(t.ServiceID)
		rollout := view.ServiceRollout(s.Primary().Rollout)
		facts := autoscale.Facts{
			Target: t, Desired: s.Desired, Deploying: rollout != nil && rollout.Status == service.RolloutInProgress, Waiting: waitingFor(view, s, waiting), Now: now,
			Series: func(source metric.Name) []autoscale.Sample { return a.series[seriesKey{t.ServiceID, source}] },
		}
		if move, ok := autoscale.Decide(facts); ok {
			a.change(ctx, t, scaling.Change{Scale: &move})
		}
	}
}

// dueActions are the names of the scheduled actions of a target that are due, by the times for which they are.
func dueActions(t *scaling.Target, now time.Time) (names []string) {
	if t.Suspended.Scheduled {
		return nil
	}
	times := map[string]time.Time{}
	for i := range t.Actions {
		if due := t.Actions[i].Due(now); !due.IsZero() {
			names = append(names, t.Actions[i].Name)
			times[t.Actions[i].Name] = due
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return times[a].Compare(times[b]) })
	return names
}

func (a *Autoscaler) change(ctx context.Context, t *scaling.Target, change scaling.Change) {
	_, err := a.proposer.Propose(ctx, raftfsm.ChangeScaling{Cluster: t.Cluster, Service: t.Service, Change: change, ID: id.NewUUID(), At: a.proposer.Now()})
	if err != nil && !errors.Is(err, scaling.ErrMoved) && ctx.Err() == nil {
		a.log.Warn("cannot scale a service, will try again", "service", t.Service, "cluster", t.Cluster, "error", err)
	}
}
