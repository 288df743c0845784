package batch

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// verdict is Verdict for a task "w" of group "waiters" on a word of TagAfter.
func (h *history) verdict(word string) string {
	h.t.Helper()
	waiting := newTask("w", tag("after", word))
	waiting.Group = "waiters"
	options, err := spec.ParseSchedulingOptions(waiting.Tags)
	if err != nil || len(options.Dependencies) != 1 {
		h.t.Fatalf("%s: %v", word, err)
	}
	switch met, never := DependencyState(h.View(), waiting, options.Dependencies[0]); {
	case never != "":
		return "never: " + never
	case met:
		return "met"
	}
	return "open"
}

func TestATaskWaitsForAnotherToEnd(t *testing.T) {
	cases := []struct {
		name         string
		tags         []spec.Tag
		end          func(*history)
		success, any string
	}{
		{"it runs", nil, func(h *history) { h.runs("a") }, "open", "open"},
		{"it succeeded", nil, func(h *history) { h.exits("a", 0, 10) }, "met", "met"},
		{"it failed", nil, func(h *history) { h.exits("a", 3, 10) }, "never: task a failed: Essential container in task exited (exit code 3)", "met"},
		{"it failed and will be tried again", []spec.Tag{tag("retries", "1")}, func(h *history) { h.exits("a", 3, 10) }, "open", "open"},
		{"it is tried again", []spec.Tag{tag("retries", "1")}, func(h *history) { h.exits("a", 3, 10); h.again("a") }, "open", "open"},
		{"it succeeded the second time", []spec.Tag{tag("retries", "1")}, func(h *history) { h.exits("a", 3, 10); h.place(h.again("a")); h.exits("n1", 0, 20) }, "met", "met"},
		{"it failed the second time", []spec.Tag{tag("retries", "1")}, func(h *history) { h.exits("a", 3, 10); h.place(h.again("a")); h.exits("n1", 4, 20) }, "never: task n1 failed", "met"},
		{"a user stopped it", nil, func(h *history) { h.stop(spec.StopUserInitiated, "a"); h.exits("a", 143, 60) }, "never: task a failed: because (exit code 143)", "met"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory(t)
			one := newTask("a", c.tags...)
			one.Group = "nightly"
			h.launch(one)
			c.end(h)
			for _, subject := range []string{"a", "group:nightly"} {
				if got := h.verdict(subject); !strings.HasPrefix(got, c.success) {
					t.Errorf("%s: %s", subject, got)
				}
				if got := h.verdict("any:" + subject); got != c.any {
					t.Errorf("any:%s: %s", subject, got)
				}
			}
		})
	}
}

// place gives tasks that wait a place.
func (h *history) place(tasks []*spec.Task) {
	h.t.Helper()
	for _, t := range tasks {
		h.do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: t.ID, HostID: "h"}}}})
	}
}

func TestAGroupIsOverWhenAllItsTasksAre(t *testing.T) {
	h := newHistory(t)
	for _, id := range []string{"a", "b", "c"} {
		task := newTask(id)
		task.Group = "nightly"
		h.launch(task)
	}
	h.exits("a", 0, 10)
	h.exits("b", 0, 10)
	if got := h.verdict("group:nightly"); got != "open" {
		t.Error(got)
	}
	h.exits("c", 1, 10)
	if got := h.verdict("group:nightly"); !strings.HasPrefix(got, "never: task c") {
		t.Error(got)
	}
	if got := h.verdict("any:group:nightly"); got != "met" {
		t.Error(got)
	}
}

func TestAGangIsOnePieceOfWork(t *testing.T) {
	h := newHistory(t)
	h.gang(2, tag("retries", "1"))
	h.exits("r0", 0, 10)
	if got := h.verdict("r0"); got != "open" {
		t.Errorf("rank 1 goes on: %s", got)
	}
	h.exits("r1", 1, 10)
	h.place(nil)
	again := h.again("r1")
	if WorkID(h.View(), again[1]) != "r0" || WorkID(h.View(), h.task("r1")) != "r0" {
		t.Error("a gang and what does it again are different work")
	}
	var group []spec.Placement
	for _, task := range again {
		group = append(group, spec.Placement{TaskID: task.ID, HostID: "h", GangPort: 29501})
	}
	h.do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{group}})
	h.exits(again[0].ID, 0, 20)
	h.exits(again[1].ID, 0, 20)
	if got := h.verdict("r0"); got != "met" {
		t.Error(got)
	}
}

func TestWhatCanNeverComeTrue(t *testing.T) {
	h := newHistory(t)
	if got := h.verdict("forgotten"); got != "never: the pool does not know a task forgotten any more" {
		t.Error(got)
	}
	if got := h.verdict("any:forgotten"); got != "met" {
		t.Error(got)
	}
	if got := h.verdict("group:waiters"); got != "never: it is one of the tasks of that group" {
		t.Error(got)
	}
	if got := h.verdict("group:empty"); got != "met" {
		t.Error(got)
	}
}
