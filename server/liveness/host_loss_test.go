package liveness

import (
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestWhatTheSilenceOfAHostMeans(t *testing.T) {
	const pool = time.Minute
	lost := day0
	task := func(id, after string) *spec.Task {
		task := &spec.Task{ID: id, LastStatus: spec.Running}
		if after != "" {
			task.Tags = []spec.Tag{{Key: spec.TagLostAfter, Value: after}}
		}
		return task
	}
	over := task("over", "10s")
	over.LastStatus = spec.Stopped
	for _, c := range []struct {
		name    string
		lostAt  time.Time
		tasks   []*spec.Task
		silence time.Duration
		want    loss
	}{
		{"not yet", time.Time{}, []*spec.Task{task("a", "")}, 50 * time.Second, loss{false, []string{"a"}, lossCheckInterval}},
		{"in a moment", time.Time{}, nil, pool - time.Millisecond, loss{false, nil, time.Millisecond}},
		{"with all its tasks", time.Time{}, []*spec.Task{task("a", ""), over}, pool, loss{true, nil, lossCheckInterval}},
		{"but for those with more time", time.Time{}, []*spec.Task{task("a", ""), task("b", "10m"), task("c", "never")}, pool, loss{true, []string{"b", "c"}, lossCheckInterval}},
		{"before its time, for a task with less", time.Time{}, []*spec.Task{task("a", ""), task("b", "10s")}, 10 * time.Second, loss{true, []string{"a"}, lossCheckInterval}},
		{"nothing new of a lost host", lost, []*spec.Task{task("b", "10m"), task("c", "never")}, 5 * time.Minute, loss{false, []string{"b", "c"}, lossCheckInterval}},
		{"the time of a task is over that was kept", lost, []*spec.Task{task("b", "10m"), task("c", "never")}, 10 * time.Minute, loss{true, []string{"c"}, lossCheckInterval}},
		{"a lost host has nothing any more", lost, []*spec.Task{over}, time.Hour, loss{false, nil, lossCheckInterval}},
	} {
		got := evaluateLoss(&spec.Host{LostAt: c.lostAt}, c.tasks, c.silence, pool)
		if got.due != c.want.due || !slices.Equal(got.keep, c.want.keep) || got.next != c.want.next {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
}
