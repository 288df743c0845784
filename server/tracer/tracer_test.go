package tracer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/change"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

// A task is told of twice: when it has started, and when it has stopped. What changes beside that has no spans.
func TestATaskHasItsTracesOnce(t *testing.T) {
	follow := newTerm(raftfsm.NewState(), time.Now, slog.New(slog.DiscardHandler))
	follow.rebuild(raftfsm.NewState().View())
	full := ran()
	task := func(status spec.Status, edit func(*spec.Task)) *spec.Task {
		c := *full
		c.LastStatus = status
		if status.Rank() < spec.Running.Rank() {
			c.Times = spec.TaskTimes{}
		} else if status != spec.Stopped {
			c.Times = spec.TaskTimes{PullStarted: at(2), PullStopped: at(5), Started: at(6)}
		}
		if edit != nil {
			edit(&c)
		}
		return &c
	}
	for i, step := range []struct {
		task *spec.Task
		at   int
		want []string
	}{
		{task(spec.Provisioning, func(t *spec.Task) { t.HostID = "" }), 0, nil},
		{task(spec.Pending, nil), 1, nil},
		{task(spec.Pending, func(t *spec.Task) { t.Containers[0].ImageDigest = "sha256:1" }), 3, nil},
		{task(spec.Running, nil), 6, []string{"task start 0-6", "place 0-1", "send 1-2", "pull images 2-5", "start containers 5-6"}},
		{task(spec.Running, func(t *spec.Task) { t.Containers[0].Health = "HEALTHY" }), 9, nil},
		{task(spec.Stopped, nil), 63, []string{"task stop 60-63", "stop containers 60-62", "release 62-63"}},
		{task(spec.Stopped, func(t *spec.Task) { t.Service = &spec.ServiceMember{Noted: true} }), 64, nil},
	} {
		follow.spans = nil
		follow.apply(nil, []*change.Change{{Kind: change.Task, Object: step.task, At: at(step.at)}})
		if got := drawn(follow.spans); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q, not %q", i, got, step.want)
		}
	}
	if len(follow.starting) != 0 {
		t.Errorf("%v is still held", follow.starting)
	}
}

// leaderClock stamps the times of tasks. It is far off the clock of the machine.
func leaderClock() time.Time { return time.Now().Add(-24 * time.Hour) }

// A leader exports what changes in its term. A collector that takes nothing costs spans, and nothing else.
func TestALeaderExportsTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := raftfsmtest.New(t)
		s.Do(raftfsm.PutHost{Host: spec.Host{ID: "h", Name: "h", Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 9999, MemoryMiB: 9999}})
		s.Do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "web", Containers: []spec.ContainerDefinition{{Name: "main", Image: "web", Memory: 4}}}})
		var roots []string
		var leads, broken bool
		tracer := Tracer{
			Log: slog.New(slog.DiscardHandler),
			Now: leaderClock,
			State: func() *raftfsm.State {
				if !leads {
					return nil
				}
				return s.State
			},
			Export: func(_ context.Context, spans []Span) error {
				if broken {
					return errors.New("nothing listens")
				}
				for _, span := range spans {
					if span.Parent == [8]byte{} {
						roots = append(roots, span.Name+" "+span.Text[0].Value)
					}
				}
				return nil
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() { tracer.Loop(ctx) })
		// pass lets the tracer look at least once.
		pass := func() { time.Sleep(3 * interval); synctest.Wait() }
		run := func(id string) { runTask(s, id, leaderClock()) }
		runTask(s, "long before", leaderClock().Add(-2*overlap))
		run("under the leader before")
		pass()
		leads = true
		pass()
		run("as a leader")
		pass()
		broken = true
		run("lost")
		pass()
		broken = false
		for i := range maxChanges {
			run(fmt.Sprintf("many %03d", i))
		}
		pass()
		cancel()
		loop.Wait()
		want := []string{"task start under the leader before", "task start as a leader"}
		for i := range maxChanges {
			want = append(want, fmt.Sprintf("task start many %03d", i))
		}
		if !slices.Equal(roots, want) {
			t.Errorf("%d traces, want %d: %.300q", len(roots), len(want), roots)
		}
	})
}

// runTask has a task start at a moment.
func runTask(s *raftfsmtest.State, id string, started time.Time) {
	s.Do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, At: raftfsmtest.Epoch, Tasks: []*spec.Task{
		{ID: id, Cluster: spec.DefaultCluster, Definition: "web:1", HostID: "h", LastStatus: spec.Pending, DesiredStatus: spec.Running, Containers: []spec.Container{{Name: "main"}}},
	}}}})
	s.Do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{
		{TaskID: id, Status: spec.Running, Times: spec.TaskTimes{Started: started}, Containers: []spec.ContainerReport{{Name: "main", Status: spec.Running}}},
	}})
}
