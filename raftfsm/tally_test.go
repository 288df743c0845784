package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tally"
)

// checkTallies compares the tallies with what the objects come to when each is counted.
func (w *model) checkTallies(v *View) {
	var objects [][]any
	for _, table := range tables {
		var of []any
		for object := range table.Objects(v) {
			of = append(of, object)
		}
		objects = append(objects, of)
	}
	if kept, counted := v.tallies.All(), tally.Count(objects).All(); !maps.Equal(kept, counted) {
		w.Fatalf("by the tallies the owners have %+v, and %+v when all is counted", kept, counted)
	}
}

// ownedBy is a waiting task of a key that asks for so many GPUs.
func ownedBy(key, id string, gpus int) *spec.Task {
	task := waiting(id, gpus)
	task.Owner = &spec.TaskOwner{Key: key, GPUs: gpus}
	return task
}

func newKey(id string, grant accesskey.Grant) Command {
	return Wrap(credential.Create{Key: accesskey.Key{ID: id, Secret: "s", Role: accesskey.RoleSubmit, Grant: grant}})
}

// wantLimit checks that an error says which limit of what would be exceeded.
func wantLimit(t *testing.T, err error, says ...string) {
	t.Helper()
	if !errors.Is(err, spec.ErrLimit) {
		t.Errorf("got %v, want a limit", err)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

func TestAKeyIsHeldToItsLimitsOfTasks(t *testing.T) {
	two := 2
	for name, c := range map[string]struct {
		grant accesskey.Grant
		says  string
	}{
		"tasks":   {accesskey.Grant{MaxTasks: 2}, "may have 2 tasks that are not STOPPED and has 2: 1 more are too many"},
		"waiting": {accesskey.Grant{MaxWaiting: 2}, "may have 2 waiting tasks and has 2: 1 more are too many"},
		"GPUs":    {accesskey.Grant{MaxGPUs: &two}, "may have 2 GPUs and has 2: 1 more are too many"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.do(t, newKey("k", c.grant))
			h.do(t, newKey("other", accesskey.Grant{}))
			// In one entry, as requests that come together are: the third finds what the first two have recorded.
			results := h.do(t, LaunchTasks{[]Launch{
				{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{ownedBy("k", "a", 1)}}, {Cluster: spec.DefaultCluster, Tasks: []*spec.Task{ownedBy("k", "b", 1)}},
				{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{ownedBy("k", "c", 1)}}, {Cluster: spec.DefaultCluster, Tasks: []*spec.Task{ownedBy("other", "d", 1)}},
			}}).([]LaunchResult)
			for i, wanted := range []bool{true, true, false, true} {
				if (results[i].Err == nil) != wanted {
					t.Errorf("run %d: %v", i, results[i].Err)
				}
			}
			wantLimit(t, results[2].Err, "access key k", c.says, "pinion keys create --max-")
			h.do(t, StopTask{ID: "a", At: at(1)}) // nothing waits for a host: it is STOPPED at once
			if result := h.launch(t, Launch{Tasks: []*spec.Task{ownedBy("k", "e", 1)}}); result.Err != nil {
				t.Errorf("when one has ended: %v", result.Err)
			}
		})
	}
}

func TestAKeyForNoGPUsGetsNone(t *testing.T) {
	none := 0
	h := newHistory(t)
	h.do(t, newKey("k", accesskey.Grant{MaxGPUs: &none}))
	wantLimit(t, h.launch(t, Launch{Tasks: []*spec.Task{ownedBy("k", "a", 1)}}).Err, "may have 0 GPUs")
	every := ownedBy("k", "b", 0)
	every.Owner.GPUs = spec.AllHostGPUs
	wantLimit(t, h.launch(t, Launch{Tasks: []*spec.Task{every}}).Err, "every GPU of its host")
	if result := h.launch(t, Launch{Tasks: []*spec.Task{ownedBy("k", "c", 0)}}); result.Err != nil {
		t.Error(result.Err)
	}
}

func TestAKeyThatWasRemovedRunsNothing(t *testing.T) {
	h := newHistory(t)
	if result := h.launch(t, Launch{Tasks: []*spec.Task{ownedBy("gone", "a", 0)}}); !errors.Is(result.Err, spec.ErrKeyRemoved) {
		t.Errorf("%v", result.Err)
	}
	h.do(t, newKey("k", accesskey.Grant{}))
	h.launch(t, Launch{Tasks: []*spec.Task{ownedBy("k", "b", 0)}})
	h.do(t, Wrap(credential.Delete{ID: "k"}))
	if task := h.View().Task("b"); task == nil || task.DesiredStatus == spec.Stopped {
		t.Errorf("a task of the key is ended with it: %+v", task)
	}
}

func TestThePoolIsHeldToItsLimits(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutSettings{spec.Settings{Limits: spec.PoolLimits{Waiting: 2}}})
	wantLimit(t, h.launch(t, Launch{Tasks: []*spec.Task{waiting("a", 0), waiting("b", 0), waiting("c", 0)}}).Err, "the pool may have 2 waiting tasks and has 0", "pinion limits --waiting")
	h.do(t, PutSettings{spec.Settings{Limits: spec.PoolLimits{Tasks: 1}}})
	wantLimit(t, h.launch(t, Launch{Tasks: []*spec.Task{waiting("a", 0), waiting("b", 0)}}).Err, "1 tasks that are not STOPPED", "pinion limits --tasks")
	if limits := h.View().Settings().Limits; limits.Waiting != 2 || limits.Revisions != spec.DefaultPoolLimits.Revisions {
		t.Errorf("what is not given stays: %+v", limits)
	}
}

// One cluster leaves the others half of what the pool may have; alone it has all of it.
func TestOneClusterHasHalfOfThePoolBesideOthers(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutSettings{spec.Settings{Limits: spec.PoolLimits{Waiting: 4}}})
	h.do(t, CreateCluster{spec.Cluster{Name: "lab", Status: spec.ClusterActive}})
	run := func(cluster string, ids ...string) error {
		var tasks []*spec.Task
		for _, id := range ids {
			one := waiting(id, 0)
			one.Cluster = cluster
			tasks = append(tasks, one)
		}
		return h.launch(t, Launch{Cluster: cluster, Tasks: tasks}).Err
	}
	if err := run(spec.DefaultCluster, "a", "b", "c"); err != nil {
		t.Fatalf("the only cluster with hosts: %v", err)
	}
	h.do(t, PutHost{spec.Host{ID: "h9", Name: "h9", Cluster: "lab"}})
	wantLimit(t, run(spec.DefaultCluster, "d"), "cluster default", "may have 2 waiting tasks and has 3", "pinion limits --waiting")
	if err := run("lab", "e"); err != nil {
		t.Errorf("the other cluster: %v", err)
	}
	wantLimit(t, run("lab", "f"), "the pool may have 4 waiting tasks")
	h.do(t, PutSettings{spec.Settings{Limits: spec.PoolLimits{Waiting: 100, Tasks: 8}}})
	if err := run("lab", "f", "g"); err != nil {
		t.Error(err)
	}
	if err := run(spec.DefaultCluster, "h"); err != nil {
		t.Error(err)
	}
	wantLimit(t, run(spec.DefaultCluster, "i"), "may have 4 tasks that are not STOPPED and has 4", "pinion limits --tasks")
}

func TestRevisionsAreLimited(t *testing.T) {
	h := newHistory(t) // has gpu:1 and cpu:1
	h.do(t, newKey("k", accesskey.Grant{MaxRevisions: 2}))
	own := func(family string) RegisterDefinition {
		d := definition(family, "")
		d.RegisteredBy = iam.OwnerARN("k")
		return RegisterDefinition{Definition: d}
	}
	h.do(t, own("a"))
	h.do(t, own("b"))
	_, err := h.try(t, own("c"))
	wantLimit(t, err, "access key k may have 2 revisions of task definitions and has 2", "--max-revisions")
	h.do(t, DeregisterDefinition{Name: "a:1", At: at(1)})
	h.do(t, DeleteDefinitions{Names: []string{"a:1"}, At: at(2)})
	h.do(t, Reap{Before: at(3)})
	h.do(t, own("c"))

	h.do(t, PutSettings{spec.Settings{Limits: spec.PoolLimits{RevisionsOfFamily: 2}}})
	h.do(t, RegisterDefinition{Definition: definition("gpu", "1")})
	_, err = h.try(t, RegisterDefinition{Definition: definition("gpu", "1")})
	wantLimit(t, err, "the family gpu may have 2 revisions and has 2", "pinion limits --revisions-of-family")
	h.do(t, PutSettings{spec.Settings{Limits: spec.PoolLimits{Revisions: 5}}})
	_, err = h.try(t, RegisterDefinition{Definition: definition("new", "")})
	wantLimit(t, err, "the pool may have 5 revisions of task definitions and has 5", "pinion limits --revisions")
}

// Tallies are not in snapshots: who restores one counts.
func TestARestoredStateHasTheSameTallies(t *testing.T) {
	h := newHistory(t)
	h.do(t, newKey("k", accesskey.Grant{}))
	for i := range 5 {
		h.launch(t, Launch{Tasks: []*spec.Task{ownedBy("k", fmt.Sprint("t", i), i)}})
	}
	restored := NewState()
	if err := restored.Restore(bytes.NewReader(h.snapshot(t))); err != nil {
		t.Fatal(err)
	}
	if before, after := h.View().KeyTally("k"), restored.View().KeyTally("k"); before != after || before.Tasks != 5 || before.GPUMilli != 10*gpuuse.Milli {
		t.Errorf("%+v and %+v", before, after)
	}
}
