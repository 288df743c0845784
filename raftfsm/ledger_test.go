package raftfsm

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

// placements draws groups that want GPUs of two hosts, often the same ones, and now and then a port or more CPU than there
// is, so that many are refused after a part of them had its places.
func placements(r *rapid.T, tasks int) (groups [][]spec.Placement) {
	next := 0
	for next < tasks {
		size := min(rapid.IntRange(1, 3).Draw(r, "size"), tasks-next)
		var group []spec.Placement
		for range size {
			host := rapid.SampledFrom([]string{"h1", "h2", "h9"}).Draw(r, "host")
			p := spec.Placement{TaskID: fmt.Sprint("t", next), HostID: host}
			for range rapid.IntRange(0, 2).Draw(r, "gpus") {
				if p.GPUs == nil {
					p.GPUs = [][]string{nil}
				}
				p.GPUs[0] = append(p.GPUs[0], fmt.Sprint(host, "-gpu", rapid.IntRange(0, 3).Draw(r, "gpu")))
			}
			if rapid.IntRange(0, 3).Draw(r, "port") == 0 {
				p.Ports = []int{rapid.IntRange(80, 82).Draw(r, "which")}
			}
			group, next = append(group, p), next+1
		}
		groups = append(groups, group)
	}
	return groups
}

// twice is two states with two hosts and tasks that wait.
func twice(t *testing.T, tasks int) (one, other *history) {
	var all [2]*history
	for i := range all {
		h := newHistory(t)
		h.do(t, PutHost{hostWith("h2", 4)})
		var run Launch
		for i := range tasks {
			run.Tasks = append(run.Tasks, waiting(fmt.Sprint("t", i), 0))
		}
		h.launch(t, run)
		all[i] = h
	}
	return all[0], all[1]
}

func TestGroupsOfOneEntryAreDecidedAsInEntriesOfTheirOwn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const tasks = 12
		groups := placements(r, tasks)
		together, apart := twice(t, tasks)
		answers := together.do(t, PlaceTasks{groups}).([]string)
		for i, group := range groups {
			if alone := apart.do(t, PlaceTasks{[][]spec.Placement{group}}).([]string)[0]; alone != answers[i] {
				r.Fatalf("group %d: %q among others, %q in an entry of its own", i, answers[i], alone)
			}
		}
		for _, host := range []string{"h1", "h2"} {
			if one, other := together.View().Free(host), apart.View().Free(host); !reflect.DeepEqual(one, other) {
				r.Fatalf("%s has %+v left, and %+v", host, one, other)
			}
		}
	})
}

func TestRunsOfOneEntryAreDecidedAsInEntriesOfTheirOwn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		together, apart := twice(t, 0)
		var runs []Launch
		for _, group := range placements(r, 12) {
			run := Launch{Cluster: spec.DefaultCluster}
			for _, p := range group {
				placed := task(p.TaskID, p.HostID)
				placed.Ports = p.Ports
				if p.GPUs != nil {
					placed.Containers[0].GPUs = p.GPUs[0]
				}
				run.Tasks = append(run.Tasks, placed)
			}
			runs = append(runs, run)
		}
		results := together.do(t, LaunchTasks{runs}).([]LaunchResult)
		for i, run := range runs {
			if alone := apart.launch(t, run); alone.Conflict != results[i].Conflict || len(alone.Result.Tasks) != len(results[i].Result.Tasks) {
				r.Fatalf("run %d: %+v among others, %+v in an entry of its own", i, results[i], alone)
			}
		}
	})
}
