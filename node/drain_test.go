package node_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/traffic"
)

func (c *fakeControl) Routing(ctx context.Context, _ string, seen *traffic.Routing) (*traffic.Routing, error) {
	for {
		c.mu.Lock()
		down, routing, changed := c.down, c.routing, c.changed
		c.mu.Unlock()
		switch {
		case down:
			return nil, errUnreachable
		case routing != nil && routing != seen:
			return routing, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// balanced assigns a task whose port is a healthy target, in a group with a deregistration delay of a minute. A task is a target once it runs.
func (w *simHost) balanced(id string) (task, target string) {
	w.control.run(id, container("main"))
	w.waitIdle()
	target = traffic.TargetID{Group: "g", Task: id, Container: "main", Port: 80}.String()
	w.control.route(target, traffic.Initial)
	return id, target
}

// route makes another Routing, with one target.
func (c *fakeControl) route(target string, state traffic.TargetState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.routing = &traffic.Routing{Groups: []traffic.Group{{
		ID: "g", Health: traffic.HealthCheck{Disabled: true}, DeregistrationDelay: time.Minute, Targets: []traffic.Target{{ID: target, State: state}},
	}}}
	c.change()
}

// drainedTask records that a task has drained.
func (c *fakeControl) drainedTask(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.tasks[id]
	task := *a.Task
	task.Drained = true
	a.Task = &task
	c.tasks[id] = a
	c.change()
}

// A task with targets that is to stop runs on until the pool says that it has drained, or its group's deregistration delay is over; not when it
// is to stop at once.
func TestATaskDrainsBeforeItStops(t *testing.T) {
	for name, end := range map[string]func(w *simHost, task string){
		"drained": func(w *simHost, task string) { w.control.drainedTask(task) },
		"delay":   func(w *simHost, _ string) { w.advance(time.Minute - 10*time.Second) },
		"force":   func(w *simHost, task string) { w.control.forceStop(task) },
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.boot()
				task, target := w.balanced("t1")
				w.waitIdle()
				if found := w.control.lastReport(task).Targets; len(found) != 1 || found[0].State != traffic.Healthy {
					t.Fatalf("%+v", found)
				}
				w.control.stop(task, "rollout")
				w.control.route(target, traffic.Draining)
				w.advance(10 * time.Second)
				w.wantRunning(id(task, "main"))
				if told := w.control.toldDrained(); !slices.Equal(told, []string{target}) {
					t.Errorf("a host without a proxy has a request in flight: %v", told)
				}
				end(w, task)
				w.waitIdle()
				w.advance(time.Second)
				w.wantNothingLeft()
			})
		})
	}
}
