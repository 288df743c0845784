package dispatch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

// A host that takes every step holds what the pool wants, whatever it held before.
func TestStepsLeadFromAnyListToAnyOther(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lists := rapid.SliceOfN(rapid.MapOf(rapid.IntRange(0, 9), rapid.Bool()), 1, 6).Draw(r, "what the pool wants, in order")
		holds, here := knownAssignments{}, []spec.Assignment(nil)
		for i, wanted := range lists {
			list := assignmentsOf(wanted)
			step := holds.diff(list, uint64(i+1))
			for _, told := range step.Tasks {
				if state, known := holds[told.Task.ID]; known && state == desiredStateOf(told.Task) {
					r.Fatalf("task %s was told again", told.Task.ID)
				}
			}
			var err error
			if here, err = step.apply(here); err != nil {
				r.Fatal(err)
			}
			if got := byTask(here); !reflect.DeepEqual(got, byTask(list)) {
				r.Fatalf("the host holds %v, not %v", got, byTask(list))
			}
			holds = knownFrom(here)
		}
	})
}

func TestAHostThatDoesNotSayWhatItHoldsGetsEverything(t *testing.T) {
	list := assignmentsOf(map[int]bool{1: true, 2: false})
	step := knownAssignments(nil).diff(list, 7)
	got, err := step.apply(assignmentsOf(map[int]bool{3: true}))
	if err != nil || step.Incremental || !reflect.DeepEqual(got, list) {
		t.Errorf("%v %v", got, err)
	}
}

func TestAStepOfAnotherHostIsNotTaken(t *testing.T) {
	before := assignmentsOf(map[int]bool{1: true})
	step := knownFrom(before).diff(assignmentsOf(map[int]bool{1: false}), 7)
	if _, err := step.apply(nil); err == nil {
		t.Error("a task without a definition was taken")
	}
}

// A host counts the time limit of a task, which is a tag, and tells its containers of all tags. They may be changed while the task runs.
func TestAHostIsToldOfOtherTags(t *testing.T) {
	of := func(tags ...spec.Tag) []spec.Assignment {
		list := byTask(assignmentsOf(map[int]bool{1: true, 2: true}))
		list[1].Task.Tags = tags
		return list
	}
	held := of()
	for _, tags := range [][]spec.Tag{{{Key: spec.TagTimeLimit, Value: "30m"}}, {{Key: spec.TagTimeLimit, Value: "3"}, {Key: "a", Value: "b"}}, {{Key: "a", Value: "c"}}, {{Key: "ac"}}, nil} {
		after := of(tags...)
		step := knownFrom(held).diff(after, 7)
		if len(step.Tasks) != 1 || step.Tasks[0].Definition != nil {
			t.Fatalf("with %v it is told %+v", tags, step.Tasks)
		}
		got, err := step.apply(held)
		if held = byTask(got); err != nil || !reflect.DeepEqual(held, after) {
			t.Errorf("with %v: %v: the host holds %v", tags, err, got)
		}
		if again := knownFrom(held).diff(of(tags...), 8); len(again.Tasks) > 0 {
			t.Errorf("with %v it is told again: %+v", tags, again.Tasks)
		}
	}
}

// assignmentsOf makes a list of numbered tasks; true are those that shall run.
// A forced stop is told to a host that knows of the stop already, once.
func TestAForcedStopIsTold(t *testing.T) {
	list := assignmentsOf(map[int]bool{1: false})
	known := knownFrom(list)
	forced := *list[0].Task
	forced.ForceStop = true
	list = []spec.Assignment{{Task: &forced, Definition: list[0].Definition}}
	step := known.diff(list, 2)
	here, err := step.apply(assignmentsOf(map[int]bool{1: false}))
	if len(step.Tasks) != 1 || err != nil || !here[0].Task.ForceStop {
		t.Errorf("told %+v, holds %+v, %v", step, here, err)
	}
	if again := knownFrom(here).diff(list, 3); len(again.Tasks) != 0 {
		t.Errorf("told again: %+v", again)
	}
}

func assignmentsOf(wanted map[int]bool) []spec.Assignment {
	list := []spec.Assignment{}
	for n, run := range wanted {
		task := &spec.Task{ID: fmt.Sprint("task-", n), DesiredStatus: spec.Stopped}
		if run {
			task.DesiredStatus = spec.Running
		}
		list = append(list, spec.Assignment{Task: task, Definition: &spec.TaskDefinition{Family: task.ID}})
	}
	return list
}

func byTask(list []spec.Assignment) []spec.Assignment {
	return slices.SortedFunc(slices.Values(list), func(a, b spec.Assignment) int { return strings.Compare(a.Task.ID, b.Task.ID) })
}
