package raftfsm

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestWhatChangesBeforeTheWatchIsAskedForIsNotMissed(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h2", 1)})
	h.running(t, task("t1", "h1"))
	h.running(t, task("t2", "h2"))
	cases := []struct {
		name   string
		change func()
		want   bool
	}{
		{"nothing", func() {}, false},
		{"a task of another host", func() { h.running(t, task("t3", "h2")) }, false},
		{"a command that finds nothing to do", func() { h.do(t, Reap{}) }, false},
		{"a command that is refused", func() { _, _ = h.try(t, StopTask{ID: "none"}) }, false},
		{"a new task", func() { h.running(t, task("t4", "h1")) }, true},
		{"a wish to stop", func() { h.do(t, StopTask{ID: "t4", At: at(1)}) }, true},
		{"the end of a task", func() { h.report(t, "h1", spec.TaskReport{TaskID: "t4", Status: spec.Stopped}) }, true},
		{"a task that came and went", func() {
			h.running(t, task("t5", "h1"))
			h.report(t, "h1", spec.TaskReport{TaskID: "t5", Status: spec.Stopped})
		}, false},
		{"a snapshot of the same", func() { _ = h.Restore(newReader(h.snapshot(t))) }, true},
	}
	for _, c := range cases {
		view := h.View()
		c.change()
		_, watch := view.Assignments("h1")
		select {
		case <-watch:
			if !c.want {
				t.Errorf("%s: woken for nothing", c.name)
			}
		default:
			if c.want {
				t.Errorf("%s: not woken", c.name)
			}
		}
	}
}

func TestAllWhoWaitForAHostAreWoken(t *testing.T) {
	h := newHistory(t)
	var all []<-chan struct{}
	for range 3 {
		_, watch := h.View().Assignments("h1")
		all = append(all, watch)
	}
	_, other := h.View().Assignments("h2")
	h.running(t, task("t1", "h1"))
	for _, watch := range all {
		select {
		case <-watch:
		default:
			t.Error("one of them was not woken")
		}
	}
	select {
	case <-other:
		t.Error("whoever waits for another host was woken")
	default:
	}
}

// TestWhoFollowsAHostSeesTheLastOfItsTasks has agents follow their hosts, as they do, while tasks come: each gets to the end.
func TestWhoFollowsAHostSeesTheLastOfItsTasks(t *testing.T) {
	const tasks, hosts = 30, 2
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h2", 4)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var agents sync.WaitGroup
	for n := range 2 * hosts {
		agents.Go(func() {
			host := fmt.Sprint("h", n%hosts+1)
			for {
				assigned, changed := h.View().Assignments(host)
				if len(assigned) == tasks {
					return
				}
				select {
				case <-changed:
				case <-ctx.Done():
					t.Errorf("%s: it sees %d of %d tasks, and nobody wakes it", host, len(assigned), tasks)
					return
				}
			}
		})
	}
	for i := range tasks {
		for host := range hosts {
			h.launch(t, Launch{Tasks: []*spec.Task{task(fmt.Sprintf("t%d-%02d", host, i), fmt.Sprint("h", host+1))}})
		}
	}
	agents.Wait()
}
