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
				if status, known := holds[told.Task.ID]; known && status == told.Task.DesiredStatus {
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

// assignmentsOf makes a list of numbered tasks; true are those that shall run.
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
