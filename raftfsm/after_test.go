package raftfsm

import (
	"pinion/raftfsm/spec"
	"slices"
	"testing"
)

func TestATaskIsHeldUntilAllThatItWaitsForIsStruckOut(t *testing.T) {
	h := newHistory(t)
	held := waiting("a", 1)
	held.Wait = &spec.Wait{After: []string{"b", "any:group:g"}}
	h.launch(t, Launch{Tasks: []*spec.Task{held}})
	release := func(words ...string) *spec.Task {
		h.do(t, ReleaseTasks{[]Release{{"a", words}, {"unknown", words}}})
		return h.View().Task("a")
	}
	if got := release("group:g"); got.Version != 1 || !got.Held() {
		t.Errorf("what it does not wait for changes nothing: %+v", got)
	}
	if got := release("b"); !got.Held() || !slices.Equal(got.WaitsFor(), []spec.After{{Group: "g", Any: true}}) {
		t.Errorf("%+v waits for %v", got.Wait, got.WaitsFor())
	}
	if got := release("any:group:g"); got.Held() || got.WaitsFor() != nil || got.Version != 3 {
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
