package rollout

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const (
	// noPlaceAfter is how long a task waits that counts as one without a place: the queue places what can be placed sooner.
	noPlaceAfter = 5 * time.Second
	// limitRetry is when tasks are tried again that a limit has refused: nothing of the service tells that there is room.
	limitRetry = 10 * time.Second
	// hostRetry is when a rollout is looked at again whose tasks no host could run: that a host is heard of again is no change of the state.
	hostRetry = 10 * time.Second
	// steadyInterval is how often a steady service says so.
	steadyInterval = 6 * time.Hour
	// maxStepTasks is the number of tasks that one step starts, and that it stops, so that its entry stays below a megabyte.
	maxStepTasks = 500
)

// Facts are what a step depends on beside the state.
type Facts struct {
	Now   time.Time
	NewID func() string // 32 hex digits, others at each call
	Hosts []*spec.Host  // that a DAEMON is for, by id

	// StartAtMost is how many tasks limits let start, and Limit why not more; an empty Limit is none.
	StartAtMost int
	Limit       string

	// Infeasible is why no host that takes tasks now could run one that waits, however empty: nothing is stopped for it. Empty when one could.
	// NoPlace is why none does, as a sentence.
	Infeasible func(*spec.Task) string
	NoPlace    func(*spec.Task) string

	// Zones are the availability zones of the hosts that take tasks, by name. ZonesFor are those of them with a host that could run a task, however full.
	Zones    []string
	ZonesFor func(*spec.Task) []Zone
}

// Next is the next step of a service. changes is false when there is nothing to do, and wake is when there may be something without a change
// of the state; zero: never.
func Next(v *raftfsm.View, s *service.Service, f Facts) (step raftfsm.StepService, wake time.Time, changes bool) {
	if s.IsExternal() && s.Status == service.Active {
		return nextOfTaskSets(v, s, f)
	}
	p := newPlanner(v, s, f)
	p.noteEnds()
	if s.Status == service.Draining {
		p.readTasks()
		p.end()
	} else {
		p.hooks().expire()
		p.rollouts.tripBreaker()
		p.readTasks()
		trafficShift{p.rollouts, p.hooks(), p.rules, p.live}.advance()
		p.balance().follow()
		p.start()
		p.startKept()
		p.stopKept()
		p.stopReplaced()
		p.makeRoom()
		p.events.unhealthy(p.live, p.rules)
		p.events.stopped(p.live)
		p.recordUnplaced()
		p.complete()
		p.recordSteady()
		p.balance().begin()
	}
	p.dropReplaced()
	return p.result()
}

// result is the step, when there may be something to do without it, and whether it is worth an entry.
func (p *planner) result() (step raftfsm.StepService, wake time.Time, changes bool) {
	p.step.Service = *p.s
	p.step.Events = p.events.events
	return p.step, p.rules.wake, p.changes()
}

// planner makes one step.
type planner struct {
	v     *raftfsm.View
	f     Facts
	now   time.Time
	was   *service.Service
	s     *service.Service // as it is after the step
	step  raftfsm.StepService
	rules *rules

	rollouts  *rollouts
	templates templates
	stops     *stops // of live, once that is read

	tasks     []*spec.Task // that the step is about, as View.ServiceTasks lists them
	events    eventRecorder
	live      replicas
	stopping  int // tasks that were asked to stop and still hold what they have
	displaced int // tasks that ended through no fault of theirs since the last step, and are replaced at once
	short     int // current tasks that are missing and find no room within MaxTasks
}

func newPlanner(v *raftfsm.View, s *service.Service, f Facts) *planner {
	after := *s
	after.Deployments = slices.Clone(s.Deployments)
	if s.Strategy == service.Daemon && s.Status == service.Active {
		after.Desired = len(f.Hosts)
	}
	p := &planner{v: v, f: f, now: f.Now, was: s, s: &after, tasks: v.ServiceTasks(s.ID), rules: &rules{v: v, s: &after, now: f.Now}}
	p.events = eventRecorder{of: s.Title(), now: f.Now, newID: f.NewID, steady: service.ActionSteadyState}
	p.step.ServiceID, p.step.Version, p.step.At = s.ID, s.Version, f.Now
	p.rollouts = &rollouts{v: v, s: p.s, now: p.now, step: &p.step, events: &p.events}
	p.templates = templates{v: v, s: p.s, zones: len(f.Zones)}
	return p
}

func (p *planner) hooks() lifecycleHooks { return lifecycleHooks{p.rollouts, p.rules, p.f.NewID} }

func (p *planner) balance() balance {
	return balance{was: p.was, s: p.s, f: p.f, starts: p.templates, stops: p.stops, events: &p.events}
}

// changes reports whether the step is worth an entry.
func (p *planner) changes() bool {
	ended := p.s.Status == service.Draining && len(p.live) == 0 && p.stopping == 0
	return ended || len(p.step.Starts)+len(p.step.Stops)+len(p.step.Noted)+len(p.step.Events)+len(p.step.Rollouts) > 0 ||
		p.s.Desired != p.was.Desired || p.s.Conditions != p.was.Conditions || p.s.Shift != p.was.Shift || !slices.Equal(p.s.Deployments, p.was.Deployments)
}

// end stops every task of a service that is deleted. It is INACTIVE when none is left.
func (p *planner) end() {
	for _, r := range p.live {
		p.stops.stop(r, "The service was deleted", false)
	}
	p.events.stopped(p.live)
}
