package orchestrator

import (
	"maps"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/batch"
)

// dependencyIndex holds the unresolved dependencies of pending tasks by their target. It is for one goroutine.
type dependencyIndex struct {
	byTarget map[dependencyTarget][]*dependency
	added    []*dependency        // since the last takeResolved: tasks before them were not evaluated for them
	dirty    map[*dependency]bool // may be resolved now
}

// dependencyTarget is what has to end: a piece of work (see batch.WorkID), or all tasks of a group.
type dependencyTarget struct{ workID, cluster, group string }

// dependency is one unresolved dependency and the tasks that have it.
type dependency struct {
	target     dependencyTarget
	on         spec.TaskDependency
	dependents map[string]bool // task ids; some may have been stopped since
	unresolved map[string]bool // work of the target that has not ended
	never      string          // why it can never be satisfied; empty while it can
}

func newDependencyIndex() *dependencyIndex {
	return &dependencyIndex{byTarget: map[dependencyTarget][]*dependency{}, dirty: map[*dependency]bool{}}
}

// add adds a dependency of a task. A task that it names is known.
func (x *dependencyIndex) add(v *raftfsm.View, t *spec.Task, on spec.TaskDependency) {
	target := dependencyTarget{cluster: t.Cluster, group: on.Group}
	if on.Group == "" {
		target = dependencyTarget{workID: batch.WorkID(v, v.Task(on.Task))}
	}
	for _, known := range x.byTarget[target] {
		if known.on == on {
			known.dependents[t.ID] = true
			return
		}
	}
	d := &dependency{target: target, on: on, dependents: map[string]bool{t.ID: true}, unresolved: map[string]bool{}}
	x.byTarget[target] = append(x.byTarget[target], d)
	x.added = append(x.added, d)
}

// update takes in a task as it is now.
func (x *dependencyIndex) update(v *raftfsm.View, t *spec.Task) {
	if len(x.byTarget) == 0 {
		return
	}
	work := batch.WorkID(v, t)
	for _, target := range [...]dependencyTarget{{workID: work}, {cluster: t.Cluster, group: t.Group}} {
		for _, d := range x.byTarget[target] {
			d.update(v, work, t)
			x.dirty[d] = true
		}
	}
}

func (d *dependency) update(v *raftfsm.View, work string, t *spec.Task) {
	met, never := batch.Satisfies(v, d.on, t)
	if d.unresolved[work] = true; met {
		delete(d.unresolved, work)
	}
	if never != "" {
		d.never = never
	}
}

// scanAdded evaluates the existing tasks for the added dependencies.
func (x *dependencyIndex) scanAdded(v *raftfsm.View) {
	clusters := map[string]bool{}
	for _, d := range x.added {
		if d.target.group != "" {
			clusters[d.target.cluster] = true
		} else if t := v.Task(d.on.Task); t != nil {
			x.update(v, t)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		for t := range v.TasksAfter(cluster, "") {
			if x.byTarget[dependencyTarget{cluster: cluster, group: t.Group}] != nil {
				x.update(v, t)
			}
		}
	}
}

// takeResolved removes the dependencies that are satisfied, or never can be.
func (x *dependencyIndex) takeResolved() (resolved []*dependency) {
	for _, d := range x.added {
		x.dirty[d] = true
	}
	for d := range x.dirty {
		if len(d.unresolved) > 0 && d.never == "" {
			continue
		}
		resolved = append(resolved, d)
		x.byTarget[d.target] = slices.DeleteFunc(x.byTarget[d.target], func(known *dependency) bool { return known == d })
		if len(x.byTarget[d.target]) == 0 {
			delete(x.byTarget, d.target)
		}
	}
	clear(x.dirty)
	x.added = nil
	return resolved
}
