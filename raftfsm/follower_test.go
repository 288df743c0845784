package raftfsm

import (
	"bytes"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

// statuses follows the state: the status of each task that is not STOPPED, by id.
type statuses struct {
	Follower
	byID     map[string]spec.Status
	rebuilds int
}

func follow(s *State, limit int) *statuses {
	f := &statuses{Follower: Follower{State: s, Limit: limit}}
	f.Rebuild = func(v *View) { f.byID, f.rebuilds = statusesIn(v), f.rebuilds+1 }
	f.Apply = func(v *View, changes []*Change) {
		for _, change := range changes {
			switch task := change.Task(); {
			case change.Kind != TaskChange:
			case task.LastStatus == spec.Stopped:
				delete(f.byID, task.ID)
			default:
				f.byID[task.ID] = task.LastStatus
			}
		}
	}
	return f
}

func statusesIn(v *View) map[string]spec.Status {
	byID := map[string]spec.Status{}
	for _, task := range v.Tasks("") {
		if task.LastStatus != spec.Stopped {
			byID[task.ID] = task.LastStatus
		}
	}
	return byID
}

// Whatever happens, what a follower derived step by step is what it would derive from the state, also over a snapshot.
func TestAFollowerHasWhatTheStateHas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := &model{T: r, history: newHistory(r)}
		follower := follow(w.State, rapid.IntRange(0, 3).Draw(r, "limit"))
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 9).Draw(r, "what") {
			case 0:
				w.restoreItself()
			case 1:
				follower.Reset()
			case 2, 3, 4:
				v, changed := follower.CatchUp()
				if want := statusesIn(v); !maps.Equal(follower.byID, want) {
					r.Fatalf("%v, the state has %v", follower.byID, want)
				}
				select {
				case <-changed:
					r.Fatal("a change was announced that nobody made")
				default:
				}
			default:
				w.step()
			}
		}
	})
}

func TestAFollowerRebuildsOnlyWhenItMust(t *testing.T) {
	h := newHistory(t)
	follower := follow(h.State, 1)
	_, changed := follower.CatchUp()
	h.launch(t, Launch{Tasks: []*spec.Task{task("a", "h1", "h1-gpu0"), task("b", "h1", "h1-gpu1")}})
	<-changed
	for taken := 1; taken <= 2; taken++ {
		if progress, _ := follower.Step(); !progress || len(follower.byID) != taken {
			t.Errorf("after step %d it has %v", taken, follower.byID)
		}
	}
	if progress, changed := follower.Step(); progress || changed == nil {
		t.Error("nothing was left, but there was progress")
	}
	if follower.rebuilds != 1 {
		t.Errorf("rebuilt %d times for changes that were remembered", follower.rebuilds)
	}
	if err := h.Restore(bytes.NewReader(h.snapshot(t))); err != nil {
		t.Fatal(err)
	}
	h.launch(t, Launch{Tasks: []*spec.Task{task("c", "h1", "h1-gpu2")}})
	if follower.CatchUp(); follower.rebuilds != 2 || len(follower.byID) != 3 {
		t.Errorf("after a snapshot: rebuilt %d times, %v", follower.rebuilds, follower.byID)
	}
	follower.Reset()
	if follower.CatchUp(); follower.rebuilds != 3 {
		t.Errorf("after Reset: rebuilt %d times", follower.rebuilds)
	}
}
