package server

import (
	"context"
	"math"
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// planner is what a leader plans on: every host with what is left of it, as everything recorded leaves it and everything
// that is being recorded will. So the next tasks are planned while the last ones are on their way into the log. It lives
// for one term: whoever leads next begins with what is in the state.
type planner struct {
	state       *raftfsm.State
	now         func() time.Time
	schedulable func(hostID string) bool // lately enough to be given tasks

	mu          sync.Mutex
	hosts       *schedule.HostSet // nil before it is needed
	position    raftfsm.Position  // what of the state is in it
	livenessAt  time.Time         // when every host was asked about last
	inFlight    map[*inFlightPlan]bool
	failedPlans int // flights so far that did not bring every task into the state
}

// inFlightPlan is what was planned together, until it is known what became of it.
type inFlightPlan struct {
	tasks    []*spec.Task
	tokens   [][2]string   // cluster and client token of the runs
	resolved chan struct{} // closed then
}

// livenessInterval is how often every host is asked about. One that comes back is noticed at once.
const livenessInterval = 500 * time.Millisecond

// catchUpInterval is how long the fleet waits for more changes before it takes them in while nobody plans: the state remembers
// so many of them only.
const catchUpInterval = 500 * time.Millisecond

func newPlanner(s *Server, t *leaderTerm) *planner {
	heard := func(hostID string) bool { return t.isSchedulable(&s.cfg, hostID) }
	return &planner{state: s.state, now: s.cfg.Now, schedulable: heard, inFlight: map[*inFlightPlan]bool{}}
}

// plan decides the requests that choose makes of the newest view. The tasks that it gives places to keep them until the
// flight has landed, which the caller sees to (see land) once they are recorded or never will be. A task that waits for a
// place is planned under its own id. choose gets the flights that are under way.
func (p *planner) plan(choose func(*raftfsm.View, []*inFlightPlan) []schedule.Request) ([]schedule.Decision, *inFlightPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.catchUp()
	under := make([]*inFlightPlan, 0, len(p.inFlight))
	for f := range p.inFlight {
		under = append(under, f)
	}
	requests := choose(view, under)
	decisions := p.hosts.Plan(requests)
	f := &inFlightPlan{resolved: make(chan struct{})}
	for i, d := range decisions {
		f.tasks = append(f.tasks, d.Tasks...)
		if run := &requests[i].Run; run.Token != "" && len(d.Tasks) > 0 {
			f.tokens = append(f.tokens, [2]string{run.Cluster, run.Token})
		}
	}
	p.inFlight[f] = true
	return decisions, f
}

// planWith is plan for a caller that asks one by one and looks at each answer before the next question. f returns the tasks
// that got places.
func (p *planner) planWith(f func(*raftfsm.View, *schedule.HostSet) []*spec.Task) *inFlightPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.catchUp()
	under := &inFlightPlan{tasks: f(view, p.hosts), resolved: make(chan struct{})}
	p.inFlight[under] = true
	return under
}

// inspect is for who only wants to know: f asks the fleet and leaves it as it is.
func (p *planner) inspect(f func(*raftfsm.View, *schedule.HostSet)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.catchUp()
	f(view, p.hosts)
}

// resolve ends a flight. The doubtful ones among its tasks may not be recorded: those that the state has at their places stay
// there, and the others hold nothing any more.
func (p *planner) resolve(f *inFlightPlan, uncertain []*spec.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.resolved)
	delete(p.inFlight, f)
	if len(uncertain) == 0 {
		return
	}
	view, failed := p.catchUp(), false
	for _, task := range uncertain {
		known := view.Task(task.ID)
		if known != nil && known.HostID == task.HostID {
			continue
		}
		failed = true
		p.hosts.DropTask(task)
		if known != nil { // it waits on, or has another place
			p.hosts.Apply(view, []*raftfsm.Change{{Kind: raftfsm.TaskChange, Object: known}}, p.schedulable)
		}
	}
	if failed {
		p.failedPlans++
	}
}

// failedCount is how many flights have failed. Whoever was refused while it grew may find a place now.
func (p *planner) failedCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failedPlans
}

// catchUp takes in what the state has become, and returns a view of it or of a later moment.
func (p *planner) catchUp() *raftfsm.View {
	if p.hosts == nil {
		return p.rebuild()
	}
	changes, _, err := p.state.Changes(p.position, math.MaxInt32)
	if err != nil { // it has missed too many
		return p.rebuild()
	}
	view := p.state.View()
	if len(changes) > 0 {
		p.hosts.Apply(view, changes, p.schedulable)
		p.position = changes[len(changes)-1].Position
	}
	now := p.now()
	all := now.Sub(p.livenessAt).Abs() >= livenessInterval
	if all {
		p.livenessAt = now
	}
	p.hosts.RefreshLiveness(p.schedulable, all)
	return view
}

// rebuild makes the fleet anew.
func (p *planner) rebuild() *raftfsm.View {
	view := p.state.View()
	p.livenessAt = p.now()
	p.hosts, p.position = schedule.HostSetOf(view, p.schedulable), raftfsm.PositionAfter(view.Index())
	for f := range p.inFlight {
		for _, task := range f.tasks {
			if known := view.Task(task.ID); known == nil || known.HostID == "" && known.LastStatus != spec.Stopped {
				p.hosts.PutTask(task)
			}
		}
	}
	return view
}

// followLoop keeps the fleet near the state while nobody plans, until ctx ends.
func (p *planner) followLoop(ctx context.Context) {
	for {
		p.mu.Lock()
		p.catchUp()
		_, more, err := p.state.Changes(p.position, 0)
		p.mu.Unlock()
		if err != nil {
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(catchUpInterval):
		case <-ctx.Done():
			return
		}
	}
}
