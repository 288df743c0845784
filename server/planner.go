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
	state *raftfsm.State
	now   func() time.Time
	heard func(hostID string) bool // lately enough to be given tasks

	mu      sync.Mutex
	fleet   *schedule.Fleet // nil before it is needed
	mark    raftfsm.Mark    // what of the state is in it
	heardAt time.Time       // when every host was asked about last
	flights map[*flight]bool
	failed  int // flights so far that did not bring every task into the state
}

// flight is what was planned together, until it is known what became of it.
type flight struct {
	tasks  []*spec.Task
	tokens [][2]string   // cluster and client token of the runs
	landed chan struct{} // closed then
}

// hearEvery is how often every host is asked about. One that comes back is noticed at once.
const hearEvery = 500 * time.Millisecond

// catchUpEvery is how long the fleet waits for more changes before it takes them in while nobody plans: the state remembers
// so many of them only.
const catchUpEvery = 500 * time.Millisecond

func newPlanner(s *Server, t *term) *planner {
	heard := func(hostID string) bool { return t.isSchedulable(&s.cfg, hostID) }
	return &planner{state: s.state, now: s.cfg.Now, heard: heard, flights: map[*flight]bool{}}
}

// plan decides the requests that choose makes of the newest view. The tasks that it gives places to keep them until the
// flight has landed, which the caller sees to (see land) once they are recorded or never will be. A task that waits for a
// place is planned under its own id. choose gets the flights that are under way.
func (p *planner) plan(choose func(*raftfsm.View, []*flight) []schedule.Request) ([]schedule.Decision, *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.catchUp()
	under := make([]*flight, 0, len(p.flights))
	for f := range p.flights {
		under = append(under, f)
	}
	requests := choose(view, under)
	decisions := p.fleet.Plan(requests)
	f := &flight{landed: make(chan struct{})}
	for i, d := range decisions {
		f.tasks = append(f.tasks, d.Tasks...)
		if run := &requests[i].Run; run.Token != "" && len(d.Tasks) > 0 {
			f.tokens = append(f.tokens, [2]string{run.Cluster, run.Token})
		}
	}
	p.flights[f] = true
	return decisions, f
}

// explore is plan for a caller that asks one by one and looks at each answer before the next question. f returns the tasks
// that got places.
func (p *planner) explore(f func(*raftfsm.View, *schedule.Fleet) []*spec.Task) *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.catchUp()
	under := &flight{tasks: f(view, p.fleet), landed: make(chan struct{})}
	p.flights[under] = true
	return under
}

// look is for who only wants to know: f asks the fleet and leaves it as it is.
func (p *planner) look(f func(*raftfsm.View, *schedule.Fleet)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.catchUp()
	f(view, p.fleet)
}

// land ends a flight. The doubtful ones among its tasks may not be recorded: those that the state has at their places stay
// there, and the others hold nothing any more.
func (p *planner) land(f *flight, doubtful []*spec.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.landed)
	delete(p.flights, f)
	if len(doubtful) == 0 {
		return
	}
	view, failed := p.catchUp(), false
	for _, task := range doubtful {
		known := view.Task(task.ID)
		if known != nil && known.HostID == task.HostID {
			continue
		}
		failed = true
		p.fleet.DropTask(task)
		if known != nil { // it waits on, or has another place
			p.fleet.Follow(view, []*raftfsm.Change{{Kind: raftfsm.TaskChange, Task: known}}, p.heard)
		}
	}
	if failed {
		p.failed++
	}
}

// failures is how many flights have failed. Whoever was refused while it grew may find a place now.
func (p *planner) failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// catchUp takes in what the state has become, and returns a view of it or of a later moment.
func (p *planner) catchUp() *raftfsm.View {
	if p.fleet == nil {
		return p.begin()
	}
	changes, _, err := p.state.Changes(p.mark, math.MaxInt32)
	if err != nil { // it has missed too many
		return p.begin()
	}
	view := p.state.View()
	if len(changes) > 0 {
		p.fleet.Follow(view, changes, p.heard)
		p.mark = changes[len(changes)-1].Mark
	}
	now := p.now()
	all := now.Sub(p.heardAt).Abs() >= hearEvery
	if all {
		p.heardAt = now
	}
	p.fleet.Hear(p.heard, all)
	return view
}

// begin makes the fleet anew.
func (p *planner) begin() *raftfsm.View {
	view := p.state.View()
	p.heardAt = p.now()
	p.fleet, p.mark = schedule.FleetOf(view, p.heard), raftfsm.EndOf(view.Index())
	for f := range p.flights {
		for _, task := range f.tasks {
			if known := view.Task(task.ID); known == nil || known.HostID == "" && known.LastStatus != spec.Stopped {
				p.fleet.PutTask(task)
			}
		}
	}
	return view
}

// follow keeps the fleet near the state while nobody plans, until ctx ends.
func (p *planner) follow(ctx context.Context) {
	for {
		p.mu.Lock()
		p.catchUp()
		_, more, err := p.state.Changes(p.mark, 0)
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
		case <-time.After(catchUpEvery):
		case <-ctx.Done():
			return
		}
	}
}
