package schedule

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

// TestATemplateFindsWhatEachRequestWould: to read a request once for many tasks, one after the other and between those of other
// kinds, gives the places that they have when each is read anew.
func TestATemplateFindsWhatEachRequestWould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := hostsOf(drawState(t).View())
		once, anew := NewHostSet(), NewHostSet()
		for _, h := range hosts {
			once.PutHost(h.Host, true)
			anew.PutHost(h.Host, true)
		}
		requests := drawRequests(t)
		var kinds []*Template
		next := ids()
		for i := range requests {
			r := &requests[i]
			r.Run.Hosts, r.IDs, r.Quiet = nil, next, true
			r.Run.Count = rapid.IntRange(1, 3).Draw(t, "together")
			if rapid.Bool().Draw(t, "gang") {
				r.Run.Tags = []spec.Tag{{Key: spec.TagGang, Value: "true"}}
			}
			kinds = append(kinds, TemplateOf(*r))
		}
		for seed := range uint64(8) {
			i := rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")
			r := requests[i]
			r.Waiting, r.Seed = NewPendingTasks(r), seed
			want, got := anew.Plan([]Request{r}), once.PlanFor(kinds[i], r.Waiting, seed)
			if !reflect.DeepEqual(got.Tasks, want[0].Tasks) {
				t.Fatalf("%+v, read anew %+v", got.Tasks, want[0].Tasks)
			}
		}
	})
}

func TestATaskThatWaitsIsPlannedAsItIsOnRecord(t *testing.T) {
	r := request(2, 1)
	r.Run.Tags = []spec.Tag{{Key: spec.TagGang, Value: "true"}}
	waiting := NewPendingTasks(r)
	f := NewHostSet()
	f.PutHost(host("a", 4).Host, true)
	d := f.PlanFor(TemplateOf(r), waiting, 7)
	if len(d.Tasks) != 2 {
		t.Fatalf("%+v", d)
	}
	for i, task := range d.Tasks {
		was := waiting[i]
		if task.ID != was.ID || task.Containers[0].ID != was.Containers[0].ID || task.Gang.ID != was.Gang.ID || task.Gang.Rank != i {
			t.Errorf("%+v was planned for %+v", task, was)
		}
		if was.HostID != "" || was.Containers[0].GPUs != nil || was.Gang.Port != 0 || slices.Contains(was.Ports, task.Gang.Port) {
			t.Errorf("what is on record became %+v", was)
		}
	}
}
