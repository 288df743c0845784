package scheduler

import (
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Hosts stamp the start of their tasks by clocks that may be off by days, and a new leader reads such stamps by another clock.
// None of that ends a task early; a host that does not end it at its limit is helped by the leader.
func TestTheLeaderCountsTheTimeLimitFromWhenItKnewOfTheStart(t *testing.T) {
	view, limit := raftfsm.NewState().View(), 30*time.Minute
	for name, stamp := range map[string]time.Duration{
		"the host is 2 days behind": -48 * time.Hour, "the leader is an hour ahead": -time.Hour, "as it was": 0,
		"the host is an hour ahead": time.Hour, "the leader is 2 days behind": 48 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			now := epoch.Add(time.Minute)
			task := &spec.Task{ID: "t", CreatedAt: epoch, LastStatus: spec.Running, DesiredStatus: spec.Running, Times: spec.TaskTimes{Started: now.Add(stamp)},
				Tags: []spec.Tag{{Key: spec.TagTimeLimit, Value: limit.String()}}}
			p := placedTasks{}
			p.track(task, task.SchedulingOptions(), now)
			if end := p.endTime(task); end.Before(epoch.Add(limit)) || end.After(now.Add(limit)) {
				t.Errorf("it is expected to end at %v", end)
			}
			for _, past := range []time.Duration{0, limit - time.Second} {
				p.track(task, task.SchedulingOptions(), now.Add(past)) // reported again
				if stops := p.timedOut(view, now.Add(past)); len(stops) != 0 {
					t.Errorf("it is stopped after %v: %s", past, stops[0].Reason)
				}
			}
			if stops := p.timedOut(view, now.Add(limit)); len(stops) != 1 || stops[0].Reason != spec.TimeLimitReason(limit) || stops[0].Code != spec.StopScheduler {
				t.Errorf("at its limit: %+v", stops)
			}
		})
	}
}

// The leader that recorded the pause before a retry had another clock than the one that waits for its end.
func TestAPauseBeforeARetryIsOfTheLeadersOwnTime(t *testing.T) {
	for name, c := range map[string]struct{ recorded, pause time.Duration }{
		"as it was":                     {time.Minute, time.Minute},
		"the clock is 2 days behind":    {48 * time.Hour, 5 * time.Minute},
		"the clock is an hour ahead":    {-time.Hour, 0},
		"the clock is 10 minutes ahead": {-9 * time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &queueController{pauses: retryDelays{}}
			task := &spec.Task{ID: "t", LastStatus: spec.Provisioning, Queue: &spec.QueueSpec{NotBefore: epoch.Add(c.recorded)}}
			if ready := w.ready(task, epoch); ready != (c.pause == 0) {
				t.Errorf("at once: %v", ready)
			}
			if w.ready(task, epoch.Add(c.pause-1)) && c.pause > 0 {
				t.Error("it did not wait")
			}
			if !w.ready(task, epoch.Add(c.pause)) {
				t.Errorf("it waits for more than %v", c.pause)
			}
		})
	}
}
