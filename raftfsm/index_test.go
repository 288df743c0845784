package raftfsm

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// checkIndex says what is wrong with an index: it should have each object of its table that belongs into it, once, and list those
// with the same first part by their keys.
func checkIndex[T any](o, all *table.Index[T], v *View) error {
	want, count := map[string][]*T{}, 0
	for object := range all.All(v) {
		if o.Includes(object) {
			first := o.First(object)
			want[first] = append(want[first], object)
			count++
		}
	}
	if all := slices.Collect(o.All(v)); len(all) != count {
		return fmt.Errorf("the index has %d objects, want %d", len(all), count)
	}
	for first, objects := range want {
		slices.SortFunc(objects, func(a, b *T) int { return compareKeys(keyOf(o, a), keyOf(o, b)) })
		for i, object := range objects {
			if i > 0 && keyOf(o, objects[i-1]) == keyOf(o, object) {
				return fmt.Errorf("the index: %+v is there twice", keyOf(o, object))
			}
			if at := keyOf(o, object); o.Get(v, at) != object {
				return fmt.Errorf("the index does not find %+v", at)
			}
		}
		// The objects themselves: an older version of one is another.
		if listed, visited := o.List(v, first), slices.Collect(o.Scan(v, first)); !slices.Equal(listed, objects) || !slices.Equal(visited, objects) {
			return fmt.Errorf("the index lists %v under %q and visits %v, want %v", listed, first, visited, objects)
		}
		if last := objects[len(objects)-1]; o.Number != nil && o.Last(v, first) != last {
			return fmt.Errorf("the index: the last under %q is %v, want %v", first, o.Last(v, first), last)
		}
	}
	return nil
}

// keyOf is what a lookup of the object is for.
func keyOf[T any](o *table.Index[T], object *T) (k sortkey.Key) {
	k.First = o.First(object)
	if o.Number != nil {
		k.Number = o.Number(object)
	}
	if o.Second != nil {
		k.Second = o.Second(object)
	}
	if o.Third != nil {
		k.Third = o.Third(object)
	}
	return k
}

func compareKeys(a, b sortkey.Key) int {
	return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Second, b.Second), cmp.Compare(a.Third, b.Third))
}

func (t *nounTable[T]) check(v *View) error {
	for i, o := range t.indexes {
		if err := checkIndex(o, t.indexes[0], v); err != nil {
			return fmt.Errorf("index %d of %s: %w", i, t.Name(), err)
		}
	}
	return nil
}

func TestEveryOrderHasWhatItShould(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := &model{T: r, history: newHistory(t)}
		for range rapid.IntRange(1, 40).Draw(r, "commands") {
			_, _ = w.try(w, w.command())
			for _, table := range tables {
				if err := table.(interface{ check(*View) error }).check(w.View()); err != nil {
					w.Fatal(err)
				}
			}
		}
	})
}

// TestAViewNeverChanges has readers look at every view while commands go on: each shows for ever what it showed at first. The
// race detector looks on.
func TestAViewNeverChanges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := &model{T: r, history: newHistory(t)}
		var readers sync.WaitGroup
		wrong := make(chan string, 100)
		for i := range rapid.IntRange(1, 30).Draw(r, "commands") {
			view, stood := w.View(), w.snapshot(w)
			readers.Go(func() {
				var again bytes.Buffer
				if err := view.WriteSnapshot(&again); err != nil || !bytes.Equal(stood, again.Bytes()) {
					wrong <- fmt.Sprintf("view %d: %v", i, err)
				}
			})
			if i%10 == 9 {
				w.restoreItself()
			}
			if _, err := w.try(w, w.command()); err != nil && !bytes.Equal(stood, w.snapshot(w)) {
				w.Fatalf("refused with %v, but the state changed", err)
			}
			if now := snapshotOfView(w, view); !bytes.Equal(stood, now) {
				w.Fatalf("view %d is another after the command", i)
			}
		}
		readers.Wait()
		select {
		case what := <-wrong:
			w.Fatal(what)
		default:
		}
	})
}

// restoreItself puts what is read from a snapshot into the place of what is there.
func (w *model) restoreItself() {
	if err := w.Restore(newReader(w.snapshot(w))); err != nil {
		w.Fatal(err)
	}
}

// TestSimilarNamesAreToldApart has names that agree in what rows are compared by first: their beginning, or a sum.
func TestSimilarNamesAreToldApart(t *testing.T) {
	h := newHistory(t)
	clusters := []string{"", "a", "a\x00", "cluster-a", "cluster-b", "cluster-aa"}
	clusters = append(clusters, alike(spec.DefaultCluster), alike("cluster-a"))
	for i, cluster := range clusters {
		if cluster == "" {
			continue
		}
		h.do(t, CreateCluster{spec.Cluster{Name: cluster}})
		for n := range 3 {
			host := hostWith(fmt.Sprintf("%d-%d", n, i), 0)
			host.Cluster = cluster
			h.do(t, PutHost{host})
			queued := waiting(fmt.Sprintf("queued-%d-%d", n, i), 0)
			placed := task(fmt.Sprintf("placed-%d-%d", n, i), host.ID)
			queued.Cluster, placed.Cluster = cluster, cluster
			h.launch(t, Launch{Cluster: cluster, Tasks: []*spec.Task{queued, placed}, Token: fmt.Sprint("token", n), At: at(n)})
		}
	}
	for _, table := range tables {
		if err := table.(interface{ check(*View) error }).check(h.View()); err != nil {
			t.Error(err)
		}
	}
	for _, cluster := range clusters[1:] {
		if v := h.View(); len(v.Tasks(cluster)) != 6 || len(slices.Collect(v.QueuedTasks(cluster))) != 3 || len(v.Hosts(cluster)) != 3 {
			t.Errorf("%q has %d tasks and %d hosts", cluster, len(v.Tasks(cluster)), len(v.Hosts(cluster)))
		}
		if after := slices.Collect(h.View().TasksAfter(cluster, h.View().Tasks(cluster)[1].ID)); len(after) != 4 {
			t.Errorf("%q has %d tasks after the second", cluster, len(after))
		}
	}
}

// alike is another name whose digest in the order of tasks by cluster is the same.
func alike(name string) string {
	lookup := func(name string) sortkey.Item { return tasksByCluster.Lookup(sortkey.Key{First: name}) }
	for n := 0; ; n++ {
		if other := fmt.Sprint("cluster-", n); tasksByCluster.Interleaved(lookup(other), lookup(name)) && other != name {
			return other
		}
	}
}

func TestMomentsThatAreNotKnownComeFirst(t *testing.T) {
	far := at(0).AddDate(500, 0, 0) // what a host with a broken clock may say
	h := newHistory(t)
	for i, moment := range []struct{ clientToken, stopped int }{{5, 5}, {3, 3}, {4, 4}} {
		id := fmt.Sprint("t", i)
		h.launch(t, Launch{Token: id, At: at(moment.clientToken), Tasks: []*spec.Task{task(id, "h1")}})
		h.report(t, "h1", spec.TaskReport{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(moment.stopped)}})
	}
	h.launch(t, Launch{Token: "none", Tasks: []*spec.Task{task("t3", "h1"), task("t4", "h1")}})
	h.report(t, "h1", spec.TaskReport{TaskID: "t3", Status: spec.Stopped})
	h.report(t, "h1", spec.TaskReport{TaskID: "t4", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: far}})
	if order := ids(slices.Collect(tasksStopped.All(h.View()))); !slices.Equal(order, []string{"t3", "t1", "t2", "t0", "t4"}) {
		t.Errorf("%v", order)
	}
	if forgotten := h.do(t, Reap{Before: at(4), TokensBefore: at(4)}); forgotten != 2 || h.View().Task("t3") != nil {
		t.Errorf("%d are forgotten", forgotten)
	}
	if left := slices.Collect(clientTokensByAge.All(h.View())); len(left) != 2 {
		t.Errorf("%d tokens are left", len(left))
	}
}
