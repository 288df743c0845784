package server

import (
	"maps"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/batch"
)

// watches are what tasks wait for and is not over. For one goroutine.
type watches struct {
	by    map[subject][]*watch
	fresh []*watch        // have not seen yet what there was before them
	moved map[*watch]bool // have to be looked at
}

// subject is what is waited for: the end of a piece of work (see batch.WorkOf), or of all tasks of a group.
type subject struct{ work, cluster, group string }

// watch is a subject and how it has to end.
type watch struct {
	subject
	after   spec.After
	waiting map[string]bool // ids of tasks; some may have been stopped since
	open    map[string]bool // the work that is not over
	never   string          // why it cannot come true any more
}

func newWatches() watches {
	return watches{by: map[subject][]*watch{}, moved: map[*watch]bool{}}
}

// add notes that a task waits for something. If it names a task, the pool knows that.
func (w *watches) add(v *raftfsm.View, t *spec.Task, after spec.After) {
	of := subject{cluster: t.Cluster, group: after.Group}
	if after.Group == "" {
		of = subject{work: batch.WorkOf(v, v.Task(after.Task))}
	}
	for _, known := range w.by[of] {
		if known.after == after {
			known.waiting[t.ID] = true
			return
		}
	}
	made := &watch{subject: of, after: after, waiting: map[string]bool{t.ID: true}, open: map[string]bool{}}
	w.by[of] = append(w.by[of], made)
	w.fresh = append(w.fresh, made)
}

// see takes in a task as it is now.
func (w *watches) see(v *raftfsm.View, t *spec.Task) {
	if len(w.by) == 0 {
		return
	}
	work := batch.WorkOf(v, t)
	for _, of := range [...]subject{{work: work}, {cluster: t.Cluster, group: t.Group}} {
		for _, watching := range w.by[of] {
			watching.see(v, work, t)
			w.moved[watching] = true
		}
	}
}

func (w *watch) see(v *raftfsm.View, work string, t *spec.Task) {
	met, never := batch.Meets(v, w.after, t)
	if w.open[work] = true; met {
		delete(w.open, work)
	}
	if never != "" {
		w.never = never
	}
}

// catchUp shows what there is to those that are fresh.
func (w *watches) catchUp(v *raftfsm.View) {
	clusters := map[string]bool{}
	for _, watching := range w.fresh {
		if watching.group != "" {
			clusters[watching.cluster] = true
		} else if t := v.Task(watching.after.Task); t != nil {
			w.see(v, t)
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		for t := range v.TasksAfter(cluster, "") {
			if w.by[subject{cluster: cluster, group: t.Group}] != nil {
				w.see(v, t)
			}
		}
	}
}

// over takes out what has come true, or never can.
func (w *watches) over() (over []*watch) {
	for _, watching := range w.fresh {
		w.moved[watching] = true
	}
	for watching := range w.moved {
		if len(watching.open) > 0 && watching.never == "" {
			continue
		}
		over = append(over, watching)
		w.by[watching.subject] = slices.DeleteFunc(w.by[watching.subject], func(known *watch) bool { return known == watching })
		if len(w.by[watching.subject]) == 0 {
			delete(w.by, watching.subject)
		}
	}
	clear(w.moved)
	w.fresh = nil
	return over
}
