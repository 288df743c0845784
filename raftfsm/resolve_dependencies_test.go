package raftfsm

import (
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestATaskIsHeldUntilAllThatItWaitsForIsStruckOut(t *testing.T) {
	h := newHistory(t)
	held := waiting("a", 1)
	held.Queue = &spec.QueueSpec{UnmetDependencies: []string{"b", "any:group:g"}}
	h.launch(t, Launch{Tasks: []*spec.Task{held}})
	release := func(words ...string) *spec.Task {
		h.do(t, ResolveDependencies{[]Resolution{{"a", words}, {"unknown", words}}})
		return h.View().Task("a")
	}
	if got := release("group:g"); got.Version != 1 || !got.Blocked() {
		t.Errorf("what it does not wait for changes nothing: %+v", got)
	}
	if got := release("b"); !got.Blocked() || !slices.Equal(got.Dependencies(), []spec.TaskDependency{{Group: "g", Any: true}}) {
		t.Errorf("%+v waits for %v", got.Queue, got.Dependencies())
	}
	if got := release("any:group:g"); got.Blocked() || got.Dependencies() != nil || got.Version != 3 {
		t.Errorf("%+v", got)
	}
}

func TestTheNextAttemptFollowsTheLastThatIsRemembered(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("first", "h1"))
	again := func(id string, attempt int) bool {
		next := waiting(id, 0)
		next.RetryOf, next.Attempt = "first", attempt
		return len(h.do(t, RetryTasks{[]*spec.Task{next}}).([]string)) == 1
	}
	again("b", 1)
	again("c", 2)
	h.do(t, StopTask{ID: "b", Code: spec.StopUserInitiated, At: at(1)})
	h.do(t, StopTask{ID: "c", Code: spec.StopUserInitiated, At: at(3)})
	h.do(t, Reap{Before: at(2)})
	if h.View().Task("b") != nil || again("d", 2) || !again("e", 3) {
		t.Errorf("attempts %v", ids(h.View().Attempts("first")))
	}
}
