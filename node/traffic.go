package node

import (
	"context"
	"slices"
	"sync"
	"time"

	"pinion/node/target"
	"pinion/packaging/backoff"
	"pinion/raftfsm/traffic"
)

// Proxy carries the requests of listeners to targets.
type Proxy interface {
	// Apply replaces the Routing of the proxy. The problem of a listener is by its id; the proxy tries it again by itself.
	Apply(traffic.Routing) map[string]error
}

// Routes holds the Routing of this host, and the draining targets without a request in flight from here.
type Routes struct {
	node    *Node
	checker *target.Checker
	kick    chan struct{} // holds a value when a heartbeat is to tell of another drained target

	mu      sync.Mutex
	routing *traffic.Routing // nil: none is known yet
	drained map[string]bool
}

func newRoutes(n *Node) *Routes {
	report := func(task string, found traffic.TargetHealth) {
		if r := n.runner(task); r != nil {
			r.Traffic.Report(found)
		}
	}
	return &Routes{node: n, checker: target.New(report), kick: make(chan struct{}, 1), drained: map[string]bool{}}
}

// watch keeps the proxy and the checks of targets in step with the Routing. While no server answers, the last one stays.
func (r *Routes) watch(ctx context.Context) {
	defer r.checker.Wait()
	select {
	case <-r.node.Assigned: // it is known which targets are this host's
	case <-ctx.Done():
		return
	}
	config := &r.node.config
	for ctx.Err() == nil {
		var routing *traffic.Routing
		err := backoff.Retry(ctx, config.Log, "ask for the routing", func(ctx context.Context) (err error) {
			routing, err = config.Control.Routing(ctx, config.Host.ID, r.current())
			return err
		})
		if err != nil {
			return
		}
		r.set(routing)
		if config.Proxy != nil {
			config.Proxy.Apply(*routing)
		} else {
			for id := range draining(routing) { // a host without a proxy sends nothing
				r.TargetDrained(id)
			}
		}
		r.checker.Apply(ctx, *routing, func(task string) bool { return r.node.runner(task) != nil })
	}
}

// TargetDrained takes from the proxy that it has no request in flight to a target that is draining. The pool learns it at once.
func (r *Routes) TargetDrained(id string) {
	r.mu.Lock()
	r.drained[id] = true
	r.mu.Unlock()
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// maxListenerProblems bounds the problems of listeners that a host reports to the pool; all are in the host's log.
const maxListenerProblems = 20

// SetListenerProblems takes the problems of listeners from the proxy. The pool records them with the host's description.
func (r *Routes) SetListenerProblems(all []traffic.ListenerProblem) {
	n := r.node
	n.mu.Lock()
	n.host.ListenerProblems = all[:min(len(all), maxListenerProblems)]
	n.mu.Unlock()
	n.rejoin.request()
}

func (r *Routes) current() *traffic.Routing {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.routing
}

// set takes in another Routing. Drained targets that are gone are forgotten.
func (r *Routes) set(routing *traffic.Routing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.routing = routing
	is := draining(routing)
	for id := range r.drained {
		if !is[id] {
			delete(r.drained, id)
		}
	}
}

func draining(routing *traffic.Routing) map[string]bool {
	is := map[string]bool{}
	for _, g := range routing.Groups {
		for _, t := range g.Targets {
			if t.State == traffic.Draining {
				is[t.ID] = true
			}
		}
	}
	return is
}

// drainedTargets lists the draining targets to which this host has no request in flight.
func (r *Routes) drainedTargets() (ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.drained {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// defaultDrain is the drain delay of a task whose groups are not known: ELB's deregistration delay.
const defaultDrain = 300 * time.Second

// drainDelay bounds the draining of a task: the longest deregistration delay of its groups, 0 when it is in none.
func (r *Routes) drainDelay(task string) (delay time.Duration) {
	routing := r.current()
	if routing == nil {
		return defaultDrain
	}
	for _, g := range routing.Groups {
		for _, t := range g.Targets {
			if id, ok := traffic.ParseTargetID(t.ID); ok && id.Task == task {
				delay = max(delay, g.DeregistrationDelay)
			}
		}
	}
	return delay
}
