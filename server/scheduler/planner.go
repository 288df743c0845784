package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// planner holds the hosts as they will be: the recorded state, and every plan whose log entry is not committed yet
// (optimistic concurrency). So the next plan is made while earlier ones are in the log. It lives for one leader term.
type planner struct {
	node   Node
	known  HostFacts
	queued prometheus.Observer // of how long tasks waited in the queue that have their places now

	mu         sync.Mutex // held from begin to the end of the planning
	hosts      *schedule.HostSet
	follower   raftfsm.Follower // keeps hosts up to date
	livenessAt time.Time        // when the liveness and the images of every host were looked at last
	inFlight   map[*inFlightPlan]bool
	failed     int // plans that did not bring every task into the state
}

// inFlightPlan holds the places of planned tasks until their log entry is committed or rejected.
type inFlightPlan struct {
	planner      *planner
	tasks        []*spec.Task
	clientTokens []clientToken
	resolved     chan struct{} // closed when the outcome is known
}

// clientToken names a request that is recorded once.
type clientToken struct{ cluster, text string }

const (
	// livenessInterval is how often the liveness and the images of every host are looked at. A host that reconnects is noticed at once.
	livenessInterval = 500 * time.Millisecond
	// catchUpInterval is how long changes collect while nothing is planned: the state remembers only so many of them.
	catchUpInterval = 500 * time.Millisecond
)

func newPlanner(node Node, known HostFacts, queued prometheus.Observer) *planner {
	p := &planner{node: node, known: known, queued: queued, inFlight: map[*inFlightPlan]bool{}}
	p.follower = raftfsm.Follower{State: node.State(), Rebuild: p.rebuild, Apply: func(v *raftfsm.View, changes []*raftfsm.Change) {
		p.hosts.Apply(v, changes, p.known.Schedulable)
	}}
	return p
}

// planning is exclusive use of a planner on one view. It ends with commit or discard.
type planning struct {
	*planner
	view *raftfsm.View
}

// begin waits for the planner and brings its hosts up to date.
func (p *planner) begin() planning {
	p.mu.Lock()
	return planning{p, p.catchUp()}
}

// concurrent lists the plans that are in flight.
func (g planning) concurrent() []*inFlightPlan {
	plans := make([]*inFlightPlan, 0, len(g.inFlight))
	for plan := range g.inFlight {
		plans = append(plans, plan)
	}
	return plans
}

// commit ends the planning: the tasks, which have their places in hosts already, keep them until the plan is resolved.
func (g planning) commit(tasks []*spec.Task, tokens []clientToken) *inFlightPlan {
	defer g.mu.Unlock()
	plan := &inFlightPlan{planner: g.planner, tasks: tasks, clientTokens: tokens, resolved: make(chan struct{})}
	g.inFlight[plan] = true
	return plan
}

// discard ends a planning that has left hosts as they were.
func (g planning) discard() { g.mu.Unlock() }

// resolve ends a plan whose log entry was committed or rejected. The uncertain tasks may not be recorded: one that the state
// has at its planned place stays there, every other one gives its place back.
func (f *inFlightPlan) resolve(uncertain []*spec.Task) {
	p := f.planner
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(f.resolved)
	delete(p.inFlight, f)
	if len(uncertain) == 0 {
		return
	}
	view, failed := p.catchUp(), false
	for _, task := range uncertain {
		recorded := view.Task(task.ID)
		if recorded != nil && recorded.HostID == task.HostID {
			continue
		}
		failed = true
		p.hosts.DropTask(task)
		if recorded != nil { // still pending, or at another place
			p.hosts.Apply(view, []*raftfsm.Change{{Kind: raftfsm.TaskChange, Object: recorded}}, p.known.Schedulable)
		}
	}
	if failed {
		p.failed++
	}
}

// wait returns when every plan is resolved, or ctx has ended.
func wait(ctx context.Context, plans []*inFlightPlan) {
	for _, plan := range plans {
		select {
		case <-plan.resolved:
		case <-ctx.Done():
		}
	}
}

// starts reports whether the plan has a request with this client token.
func (f *inFlightPlan) starts(token clientToken) bool { return slices.Contains(f.clientTokens, token) }

// failures is the number of plans that have failed so far. A request that was refused while it grew may find a place now.
func (p *planner) failures() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// catchUp brings hosts up to date, and returns a view of that moment or of a later one.
func (p *planner) catchUp() *raftfsm.View {
	view, _ := p.follower.CatchUp()
	p.hosts.SetListenerPorts(loadbalancer.Ports(view)) // listeners are not among the changes
	now := p.node.Now()
	all := now.Sub(p.livenessAt).Abs() >= livenessInterval
	if all {
		p.livenessAt = now
		p.hosts.RefreshImages(p.known.Images)
	}
	p.hosts.RefreshLiveness(p.known.Schedulable, all)
	return view
}

// rebuild makes hosts from a view and the plans in flight.
func (p *planner) rebuild(view *raftfsm.View) {
	p.livenessAt = p.node.Now()
	p.hosts = schedule.HostSetOf(view, p.known.Schedulable)
	p.hosts.RefreshImages(p.known.Images)
	for plan := range p.inFlight {
		for _, task := range plan.tasks {
			if recorded := view.Task(task.ID); recorded == nil || recorded.HostID == "" && recorded.LastStatus != spec.Stopped {
				p.hosts.PutTask(task)
			}
		}
	}
}

// followLoop keeps hosts near the state while nothing is planned, until ctx ends.
func (p *planner) followLoop(ctx context.Context) {
	for {
		p.mu.Lock()
		_, changed := p.follower.CatchUp()
		p.mu.Unlock()
		select {
		case <-changed:
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
