package server

import (
	"maps"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/batch"
)

// dependencyIndex are what tasks wait for and is not over. For one goroutine.
type dependencyIndex struct {
	byTarget map[dependencyTarget][]*dependency
	added    []*dependency        // have not seen yet what there was before them
	dirty    map[*dependency]bool // have to be looked at
}

// dependencyTarget is what is waited for: the end of a piece of work (see batch.WorkOf), or of all tasks of a group.
type dependencyTarget struct{ workID, cluster, group string }

// dependency is a subject and how it has to end.
type dependency struct {
	dependencyTarget
	after      spec.TaskDependency
	dependents map[string]bool // ids of tasks; some may have been stopped since
	unresolved map[string]bool // the work that is not over
	never      string          // why it cannot come true any more
}

func newDependencyIndex() dependencyIndex {
	return dependencyIndex{byTarget: map[dependencyTarget][]*dependency{}, dirty: map[*dependency]bool{}}
}

// add notes that a task waits for something. If it names a task, the pool knows that.
func (w *dependencyIndex) add(v *raftfsm.View, t *spec.Task, after spec.TaskDependency) {
	of := dependencyTarget{cluster: t.Cluster, group: after.Group}
	if after.Group == "" {
		of = dependencyTarget{workID: batch.WorkID(v, v.Task(after.Task))}
	}
	for _, known := range w.byTarget[of] {
		if known.after == after {
			known.dependents[t.ID] = true
			return
		}
	}
	made := &dependency{dependencyTarget: of, after: after, dependents: map[string]bool{t.ID: true}, unresolved: map[string]bool{}}
	w.byTarget[of] = append(w.byTarget[of], made)
	w.added = append(w.added, made)
}

// update takes in a task as it is now.
func (w *dependencyIndex) update(v *raftfsm.View, t *spec.Task) {
	if len(w.byTarget) == 0 {
		return
	}
	work := batch.WorkID(v, t)
	for _, of := range [...]dependencyTarget{{workID: work}, {cluster: t.Cluster, group: t.Group}} {
		for _, watching := range w.byTarget[of] {
			watching.update(v, work, t)
			w.dirty[watching] = true
		}
	}
}

func (w *dependency) update(v *raftfsm.View, work string, t *spec.Task) {
	met, never := batch.Satisfies(v, w.after, t)
	if w.unresolved[work] = true; met {
		delete(w.unresolved, work)
	}
	if never != "" {
		w.never = never
	}
}

// scanAdded shows what there is to those that are fresh.
func (w *dependencyIndex) scanAdded(v *raftfsm.View) {
	clusters := map[string]bool{}
	for _, watching := range w.added {
		if watching.group != "" {
			clusters[watching.cluster] = true
		} else if t := v.Task(watching.after.Task); t != nil {
			w.update(v, t)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		for t := range v.TasksAfter(cluster, "") {
			if w.byTarget[dependencyTarget{cluster: cluster, group: t.Group}] != nil {
				w.update(v, t)
			}
		}
	}
}

// takeResolved takes out what has come true, or never can.
func (w *dependencyIndex) takeResolved() (over []*dependency) {
	for _, watching := range w.added {
		w.dirty[watching] = true
	}
	for watching := range w.dirty {
		if len(watching.unresolved) > 0 && watching.never == "" {
			continue
		}
		over = append(over, watching)
		w.byTarget[watching.dependencyTarget] = slices.DeleteFunc(w.byTarget[watching.dependencyTarget], func(known *dependency) bool { return known == watching })
		if len(w.byTarget[watching.dependencyTarget]) == 0 {
			delete(w.byTarget, watching.dependencyTarget)
		}
	}
	clear(w.dirty)
	w.added = nil
	return over
}
