package orchestrator

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/packaging/backoff"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/schedule/rollout"
)

const (
	// refusedRetry is when a service is looked at again of which a step was refused.
	refusedRetry = 10 * time.Second
	// maxServicesPause bounds how long the reconciler sleeps, as clocks may be set meanwhile.
	maxServicesPause = time.Minute
)

// Services is the reconciler of services: it takes each step by step to what it is to be. Package rollout has the rules. Only services are
// looked at of which something has changed, or whose time has come. One goroutine uses it.
type Services struct {
	proposer    Proposer
	schedulable func(hostID string) bool
	log         *slog.Logger
	follower    raftfsm.Follower

	touched map[string]bool      // ids of services to look at
	wakes   map[string]time.Time // when others are to be looked at
	zones   map[string][]string  // see zonesOf, by cluster
	zonesAt uint64               // the index of the state that they are of
	onHosts map[string]string    // clusters of the services that any host of it may matter to, by id: of DAEMON ones, and those rebalanced between zones
}

// NewServices makes the reconciler for one leader term. schedulable reports whether a host was heard of lately enough for new tasks.
func NewServices(p Proposer, schedulable func(hostID string) bool, log *slog.Logger) *Services {
	s := &Services{proposer: p, schedulable: schedulable, log: log}
	s.follower = raftfsm.Follower{State: p.State(), Rebuild: s.touchAll, Apply: s.touchChanged, Limit: maxLifecycleChanges}
	return s
}

// Loop reconciles until ctx ends.
func (s *Services) Loop(ctx context.Context) {
	for ctx.Err() == nil {
		progress, changed := s.follower.Step()
		s.touchDue()
		if len(s.touched) > 0 {
			if err := s.Reconcile(ctx); err != nil && ctx.Err() == nil {
				s.log.Warn("cannot record steps of services, will try again", "error", err)
				s.follower.Reset()
				_ = backoff.Sleep(ctx, lifecycleBackoff)
			}
			continue
		}
		if !progress {
			s.wait(ctx, changed)
		}
	}
}

// wait pauses until the state changes or the time of a service has come.
func (s *Services) wait(ctx context.Context, changed <-chan struct{}) {
	now, pause := s.proposer.Now(), maxServicesPause
	for _, at := range s.wakes {
		pause = min(pause, max(at.Sub(now), time.Millisecond))
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *Services) touchAll(v *raftfsm.View) {
	s.touched, s.wakes, s.onHosts = map[string]bool{}, map[string]time.Time{}, map[string]string{}
	for _, known := range v.Services("") {
		s.touch(known)
	}
}

func (s *Services) touchChanged(v *raftfsm.View, changes []*raftfsm.Change) {
	for _, change := range changes {
		switch object := change.Object.(type) {
		case *service.Service:
			s.touch(object)
		case *spec.Task:
			if object.Service != nil {
				s.touched[object.Service.ID] = true
			}
		case *spec.Host:
			s.touchHost(v, object)
		case *spec.Cluster: // its settings
			for _, known := range v.Services(object.Name) {
				s.touch(known)
			}
		}
	}
}

func (s *Services) touch(known *service.Service) {
	s.touched[known.ID] = true
	delete(s.onHosts, known.ID)
	if known.Strategy == service.Daemon || known.Rebalances() {
		s.onHosts[known.ID] = known.Cluster
	}
}

// touchHost has the services looked at that have a task on a host, and those that may be to have one.
func (s *Services) touchHost(v *raftfsm.View, host *spec.Host) {
	for _, t := range v.TasksOn(host.ID) {
		if t.Service != nil && t.LastStatus != spec.Stopped {
			s.touched[t.Service.ID] = true
		}
	}
	for id, cluster := range s.onHosts {
		if cluster == host.Cluster {
			s.touched[id] = true
		}
	}
}

// touchDue has the services looked at whose time has come.
func (s *Services) touchDue() {
	now := s.proposer.Now()
	for id, at := range s.wakes {
		if !at.After(now) {
			s.touched[id] = true
		}
	}
}

// Reconcile takes a step of each service that is to be looked at. What a step brings about is a change, after which the service is looked at again.
func (s *Services) Reconcile(ctx context.Context) error {
	steps := s.steps(s.proposer.State().View())
	refused := make([]error, len(steps))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(commitConcurrency)
	for i, step := range steps {
		group.Go(func() error {
			answer, err := s.proposer.Propose(ctx, step)
			taken, _ := answer.(raftfsm.ServiceStep)
			refused[i] = taken.Refused
			return err
		})
	}
	err := group.Wait()
	for i, why := range refused {
		if why != nil {
			s.log.Warn("a service cannot start its tasks, will try again", "service", steps[i].Service.Name, "cluster", steps[i].Service.Cluster, "error", why)
			s.wakes[steps[i].ServiceID] = s.proposer.Now().Add(refusedRetry)
		}
	}
	return err
}

// steps are the next steps of the services that are to be looked at.
func (s *Services) steps(view *raftfsm.View) (steps []raftfsm.StepService) {
	for _, serviceID := range slices.Sorted(maps.Keys(s.touched)) {
		delete(s.touched, serviceID)
		delete(s.wakes, serviceID)
		known := view.ServiceByID(serviceID)
		if known == nil || known.Status == service.Inactive {
			delete(s.onHosts, serviceID)
			continue
		}
		step, wake, changes := s.Next(view, known)
		if !wake.IsZero() {
			s.wakes[serviceID] = wake
		}
		if changes {
			steps = append(steps, step)
		}
	}
	return steps
}

// Next is the next step of a service, as rollout.Next has it, within the limits that its tasks count for.
func (s *Services) Next(v *raftfsm.View, known *service.Service) (raftfsm.StepService, time.Time, bool) {
	facts := s.facts(v, known)
	step, wake, changes := rollout.Next(v, known, facts)
	check := func(n int) error {
		more, holder := spec.TallyOf(step.Starts[:n])
		return v.CheckTasks(known.Cluster, holder, more)
	}
	refusal := check(len(step.Starts))
	if refusal == nil {
		return step, wake, changes
	}
	low, high := 0, len(step.Starts) // low may start, high may not
	for high-low > 1 {
		if middle := (low + high) / 2; check(middle) == nil {
			low = middle
		} else {
			high = middle
		}
	}
	facts.StartAtMost, facts.Limit = low, refusal.Error()
	return rollout.Next(v, known, facts)
}

func (s *Services) facts(v *raftfsm.View, known *service.Service) rollout.Facts {
	asker := &hostAsker{v, s.schedulable}
	facts := rollout.Facts{Now: s.proposer.Now(), NewID: id.NewTask, Infeasible: asker.infeasible, NoPlace: asker.noPlace, ZonesFor: asker.zonesFor}
	if known.Strategy == service.Daemon {
		facts.Hosts = asker.daemonHosts(known)
	}
	if known.Rebalances() {
		facts.Zones = s.zonesOf(v, known.Cluster)
	}
	return facts
}

// zonesOf are the availability zones of the hosts of a cluster that take tasks. Many services ask at once, of one state.
func (s *Services) zonesOf(v *raftfsm.View, cluster string) []string {
	if s.zones == nil || s.zonesAt != v.Index() {
		s.zones, s.zonesAt = map[string][]string{}, v.Index()
	}
	zones, known := s.zones[cluster]
	if !known {
		zones = (&hostAsker{v, s.schedulable}).zones(cluster)
		s.zones[cluster] = zones
	}
	return zones
}

// NoPlace is why no host has room for a task of a service that waits, as a sentence.
func (s *Services) NoPlace(v *raftfsm.View, t *spec.Task) string {
	return (&hostAsker{v, s.schedulable}).noPlace(t)
}
