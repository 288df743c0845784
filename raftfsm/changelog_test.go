package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/changelog"
	"pinion/raftfsm/spec"
)

// changed lists what came after a mark, in words: place, kind, object, and how it is.
func changed(t tester, s *State, after Position) []string {
	t.Helper()
	changes, _, err := s.Changes(after, changelog.Max)
	if err != nil {
		t.Fatal(err)
	}
	told := []string{}
	for _, c := range changes {
		over := ""
		if c.Deleted {
			over = " over"
		}
		of := map[ChangeKind]func() string{
			TaskChange:    func() string { return c.Task().ID + " " + string(c.Task().LastStatus) },
			HostChange:    func() string { return c.Host().ID + " " + string(c.Host().Status) },
			ClusterChange: func() string { return c.Cluster().Name + " " + string(c.Cluster().Status) },
			LeaderChange:  func() string { return c.Object.(*Leader).HostID },
			GPUChange:     func() string { return c.GPU().UUID + " " + string(c.GPU().Health) },
		}[c.Kind]()
		told = append(told, fmt.Sprintf("%d-%d %s %s in %s%s", c.Position.Index, c.Position.Offset, c.Kind, of+strings.TrimRight(" "+string(c.Connection), " "), c.ClusterName, over))
	}
	return told
}

func TestEachChangeIsToldInTheOrderOfTheLog(t *testing.T) {
	h := &history{State: NewState()}
	h.do(t, CreatePool{spec.Pool{ID: "pool", CreatedAt: epoch}})
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	h.do(t, PutHost{hostWith("h1", 2)})
	h.do(t, RegisterDefinition{Definition: definition("gpu", "1")}) // nobody's task, host, cluster or GPU
	h.launch(t, Launch{Tasks: []*spec.Task{task("a", "h1", "h1-gpu0"), task("b", "h1", "h1-gpu1")}})
	h.report(t, "h1", spec.TaskReport{TaskID: "a", Status: spec.Running}, spec.TaskReport{TaskID: "b", Status: spec.Pending}) // b is that already
	sick := hostWith("h1", 2)
	sick.GPUs.Devices[1].Health = gpu.Unhealthy
	h.do(t, PutHost{sick})
	h.do(t, PutHost{sick}) // nothing is new
	h.report(t, "h1", spec.TaskReport{TaskID: "a", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(1)}}, spec.TaskReport{TaskID: "b", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(1)}})
	h.do(t, Reap{Before: at(2)}) // they were over before
	moved := hostWith("h1", 1)
	moved.Cluster = "lab"
	h.do(t, PutHost{moved})
	h.do(t, RemoveHost{ID: "h1", At: at(3)})
	want := []string{
		"1-0 cluster default ACTIVE in default",
		"2-0 cluster lab ACTIVE in lab",
		"3-0 host h1 ACTIVE in default", "3-1 gpu h1-gpu0 HEALTHY in default", "3-2 gpu h1-gpu1 HEALTHY in default",
		"5-0 task a PENDING in default", "5-1 task b PENDING in default",
		"6-0 task a RUNNING in default",
		"7-0 host h1 ACTIVE in default", "7-1 gpu h1-gpu1 UNHEALTHY in default",
		"9-0 task a STOPPED in default", "9-1 task b STOPPED in default",
		"11-0 host h1 ACTIVE in default over", "11-1 gpu h1-gpu0 HEALTHY in default over", "11-2 gpu h1-gpu1 UNHEALTHY in default over",
		"11-3 host h1 ACTIVE in lab", "11-4 gpu h1-gpu0 HEALTHY in lab",
		"12-0 host h1 ACTIVE in lab over", "12-1 gpu h1-gpu0 HEALTHY in lab over",
	}
	if got := changed(t, h.State, Position{}); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := changed(t, h.State, Position{Index: 5}); !slices.Equal(got, want[6:]) {
		t.Errorf("after the first of an entry: %q", got)
	}
	if got := changed(t, h.State, PositionAfter(5)); !slices.Equal(got, want[7:]) {
		t.Errorf("after a whole entry: %q", got)
	}
}

func TestWhoWaitsIsWokenByTheNextChange(t *testing.T) {
	h := newHistory(t)
	last := PositionAfter(h.View().Index())
	none, more, err := h.Changes(last, 10)
	if err != nil || len(none) != 0 {
		t.Fatal(none, err)
	}
	h.do(t, RegisterDefinition{Definition: definition("gpu", "1")})
	select {
	case <-more:
		t.Error("a definition is no change")
	default:
	}
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	<-more
	if got := changed(t, h.State, last); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestWhatASnapshotSkippedIsForgotten(t *testing.T) {
	h, other := newHistory(t), NewState()
	_, more, err := other.Changes(Position{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Restore(bytes.NewReader(h.snapshot(t))); err != nil {
		t.Fatal(err)
	}
	<-more
	_, _, err = other.Changes(Position{Index: 1}, 1)
	forgotten, ok := errors.AsType[*CompactedError](err)
	if !ok || forgotten.Oldest != PositionAfter(h.View().Index()) {
		t.Errorf("%v", err)
	}
	if _, err := other.ApplyAt(99, at(7), CreateCluster{spec.Cluster{Name: "lab"}}); err != nil {
		t.Fatal(err)
	}
	changes, _, err := other.Changes(forgotten.Oldest, 1)
	if err != nil || len(changes) != 1 || !changes[0].At.Equal(at(7)) {
		t.Errorf("%v %v", changes, err)
	}
}

// A reader that is told of no change and goes on from ChangesEnd misses none, however its questions and the entries fall together.
func TestAReaderThatGoesOnFromTheEndMissesNothing(t *testing.T) {
	const entries = 10_000
	s := NewState()
	read := make(chan int)
	go func() {
		told := 0
		for at := (Position{}); at.Index < entries; {
			end := s.ChangesEnd()
			changes, _, _ := s.Changes(at, entries) // none is compacted: they are fewer than changelog.Max
			if told += len(changes); len(changes) > 0 {
				at = changes[len(changes)-1].Position
			} else if end.Compare(at) > 0 {
				at = end
			}
		}
		read <- told
	}()
	for n := range uint64(entries) {
		if _, err := s.Apply(n+1, CreateCluster{spec.Cluster{Name: fmt.Sprint("lab", n)}}); err != nil {
			t.Error(err)
		}
	}
	if told := <-read; told != entries {
		t.Errorf("%d of %d changes were read", told, entries)
	}
}
