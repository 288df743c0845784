package batch

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Whatever becomes of tasks, in whatever order: work is done again as often as its terms allow and no oftener, a gang starts
// and ends as a whole, and when nothing runs or waits any more everything has an outcome.
func TestWorkIsDoneAgainAsItsOptionsSay(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt)
		works := rapid.IntRange(1, 4).Draw(rt, "works")
		for i := range works {
			h.begin(fmt.Sprint("w", i), rapid.IntRange(1, 3).Draw(rt, "size"), tag("retries", fmt.Sprint(rapid.IntRange(0, 2).Draw(rt, "retries"))))
		}
		for range 200 {
			h.followUp()
			h.placeAll()
			h.check()
			live := slices.DeleteFunc(h.View().Tasks(""), func(t *spec.Task) bool { return t.LastStatus == spec.Stopped })
			if len(live) == 0 {
				return
			}
			h.happens(rt, live[rapid.IntRange(0, len(live)-1).Draw(rt, "task")].ID)
		}
		rt.Fatalf("tasks run on: %v", h.View().Tasks(""))
	})
}

// begin launches a task, or a gang of several.
func (h *history) begin(name string, size int, tags ...spec.Tag) {
	var tasks []*spec.Task
	for rank := range size {
		task := newTask(fmt.Sprint(name, "-", rank), tags...)
		if size > 1 {
			task.Gang = &spec.GangMember{ID: name, Rank: rank, Size: size}
		}
		tasks = append(tasks, task)
	}
	h.launch(tasks...)
}

// happens draws what becomes of a task.
func (h *history) happens(rt *rapid.T, id string) {
	switch rapid.SampledFrom([]string{"succeeds", "fails", "fails", "is lost", "gives way", "is stopped"}).Draw(rt, "it") {
	case "succeeds":
		h.exits(id, 0, 60)
	case "fails":
		h.exits(id, 1, 60)
	case "is lost":
		h.gone(id)
	case "gives way":
		h.stop(spec.StopPreempted, id)
		h.exits(id, 143, 60)
	case "is stopped":
		h.stop(spec.StopUserInitiated, id)
	}
}

// followUp is what the leader does, until nothing more follows.
func (h *history) followUp() {
	h.t.Helper()
	for before := uint64(0); before != h.View().Index(); {
		before = h.View().Index()
		for _, t := range h.View().Tasks("") {
			if t.Gang != nil {
				stops, reason := GangStops(h.View(), t.Gang.ID)
				for _, mate := range stops {
					h.do(raftfsm.StopTask{ID: mate.ID, Code: spec.StopScheduler, Reason: reason, At: at(70)})
				}
			}
			if t.LastStatus == spec.Stopped {
				h.again(t.ID)
			}
		}
	}
}

// placeAll gives all that waits a place.
func (h *history) placeAll() {
	groups := map[string][]spec.Placement{}
	for t := range h.View().QueuedTasks("") {
		name := t.ID
		if t.Gang != nil {
			name = t.Gang.ID
		}
		groups[name] = append(groups[name], spec.Placement{TaskID: t.ID, HostID: "h"})
	}
	for _, group := range groups {
		if why := h.do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{group}}).([]string); why[0] != "" {
			h.t.Fatalf("%v: %s", group, why[0])
		}
	}
}

func (h *history) check() {
	h.t.Helper()
	v := h.View()
	attempts := map[string]int{} // that are not over, by work
	for _, t := range v.Tasks("") {
		if most := t.SchedulingOptions().Retries; t.Failed > most || t.Failed > t.Attempt {
			h.t.Fatalf("%s was tried again after %d failures of %d, in attempt %d", t.ID, t.Failed, most, t.Attempt)
		}
		if t.Gang != nil && len(v.Gang(t.Gang.ID)) != t.Gang.Size {
			h.t.Fatalf("of gang %s there are %d tasks, not %d", t.Gang.ID, len(v.Gang(t.Gang.ID)), t.Gang.Size)
		}
		if t.LastStatus != spec.Stopped && (t.Gang == nil || t.Gang.Rank == 0) {
			attempts[WorkID(v, t)]++
		}
		outcome := OutcomeOf(v, t)
		if over := allStopped(gangOrTask(v, LatestAttempt(v, t))); over == (outcome == Open) {
			h.t.Fatalf("%s: the last attempt is over: %v, and the outcome is %v", t.ID, over, outcome)
		}
	}
	for work, n := range attempts {
		if n > 1 {
			h.t.Fatalf("%d attempts at %s go on at the same time", n, work)
		}
	}
}
