package scheduler

import (
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/schedule/queue"
)

// Who may be stopped for whom follows the order of the queue, so that no two stop each other by turns, and a team gives up
// no more than it has borrowed.
func TestWhoComesLaterInTheQueueGivesWay(t *testing.T) {
	now := time.Unix(1000, 0)
	type held struct {
		team     string
		priority int
		stopping bool
	}
	for name, c := range map[string]struct {
		quotas map[string]int
		held   []held // one GPU each, the oldest first
		item   queue.Item
		want   []int // who may be stopped
	}{
		"by priority":                           {nil, []held{{"a", 5, false}, {"b", 0, false}, {"b", 9, false}}, queue.Item{Team: "c", Priority: 5}, []int{1}},
		"nobody for an equal":                   {nil, []held{{"a", 5, false}}, queue.Item{Team: "a", Priority: 5}, nil},
		"the youngest of those borrowed":        {map[string]int{"a": 1, "b": 1}, []held{{"a", 9, false}, {"a", 9, false}}, queue.Item{Team: "b"}, []int{1}},
		"none when enough of them end already":  {map[string]int{"a": 1, "b": 1}, []held{{"a", 9, false}, {"a", 9, true}}, queue.Item{Team: "b"}, nil},
		"nobody by right for who would borrow":  {map[string]int{"a": 1, "b": 1}, []held{{"a", 9, false}, {"b", 0, false}}, queue.Item{Team: "a", Priority: 9}, nil},
		"priority among those who only borrow":  {map[string]int{"b": 1}, []held{{"a", 3, false}, {"b", 0, false}}, queue.Item{Team: "c", Priority: 5}, []int{0}},
		"priority alone within a team":          {map[string]int{"a": 2}, []held{{"a", 1, false}, {"a", 2, false}}, queue.Item{Team: "a", Priority: 2}, []int{0}},
		"priority among those who are by right": {map[string]int{"a": 1, "b": 1}, []held{{"a", 1, false}}, queue.Item{Team: "b", Priority: 2}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &queueController{queue: queue.New(), placed: placedTasks{}}
			for team, gpus := range c.quotas {
				w.queue.Teams.Set(team, gpus, 1)
			}
			names := []string{"t0", "t1", "t2"}
			for i, h := range c.held {
				w.queue.Teams.StartUsage(names[i], h.team, 1, now, now)
				w.placed[names[i]] = &placedTask{team: h.team, milli: 1, priority: h.priority, preemptible: true, startedAt: now.Add(time.Duration(i))}
				if h.stopping {
					w.placed[names[i]].stoppingAt = now
				}
			}
			c.item.Tasks, c.item.GPUs = []string{"new"}, 1
			borrowed := w.placed.borrowed(w.queue.Teams)
			var got []int
			for i := range c.held {
				if _, may := w.evictionCost(&spec.Task{ID: names[i]}, &c.item, borrowed[names[i]]); may {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v give way, want %v", got, c.want)
			}
		})
	}
}
