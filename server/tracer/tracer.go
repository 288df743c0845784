// Package tracer makes traces of the lives of tasks, in the terms of OpenTelemetry: what each has waited for on its way to RUNNING, and how it was
// stopped. It reads them from the state, where all hosts of a task record what they do, so that nothing on the way of a task does more for it.
package tracer

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/change"
	"pinion/raftfsm/changelog"
	"pinion/raftfsm/spec"
)

const (
	// interval is the time between two looks at the state.
	interval = time.Second
	// maxChanges bounds the changes of one look, and so the spans of one export: six for a task at most.
	maxChanges = 500
	// overlap is how far back the traces of a new term begin: the leader before may have had no time for those, and a span that is exported twice is one.
	overlap = time.Minute
)

// Tracer exports the traces of tasks while this host leads. All fields are required.
type Tracer struct {
	// State is that of the leader; nil: this host does not lead.
	State func() *raftfsm.State
	// Export sends spans to a collector. What it cannot send is lost, and what was sent may be sent again by another leader, with the same ids.
	Export func(ctx context.Context, spans []Span) error
	// Now is the clock of this host, which stamps the times of tasks where it leads.
	Now func() time.Time
	Log *slog.Logger
}

// Loop exports until ctx ends.
func (t *Tracer) Loop(ctx context.Context) {
	ticks := tick.New(interval)
	defer ticks.Stop()
	var now *term
	failing := false
	for {
		state := t.State()
		if state == nil {
			now = nil
		} else if now == nil || now.state != state {
			now = newTerm(state, t.Now, t.Log)
		}
		for more := now != nil; more && ctx.Err() == nil && t.State() == state; {
			var spans []Span
			spans, more = now.next()
			if len(spans) == 0 {
				continue
			}
			err := t.Export(ctx, spans)
			if err != nil && !failing && ctx.Err() == nil {
				t.Log.Warn("traces of tasks are lost: the collector does not take them", "spans", len(spans), "error", err)
			} else if err == nil && failing {
				t.Log.Info("the collector takes traces of tasks again")
			}
			failing = err != nil
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// term follows the state while this host leads.
type term struct {
	state    *raftfsm.State
	now      func() time.Time
	log      *slog.Logger
	follower changelog.Follower[*raftfsm.View, *change.Change]
	began    bool
	behind   bool               // it was said that traces are missing
	starting map[string]waiting // the tasks that are on their way to RUNNING, by id
	spans    []Span
}

// waiting is what is known of a task on its way to RUNNING.
type waiting struct {
	onHost bool
	placed time.Time // when it got its host; zero: it has none, or that was before this term
}

func newTerm(state *raftfsm.State, now func() time.Time, log *slog.Logger) *term {
	t := &term{state: state, now: now, log: log}
	t.follower = changelog.Follower[*raftfsm.View, *change.Change]{State: state, Rebuild: t.rebuild, Apply: t.apply, Limit: maxChanges}
	return t
}

// next are the spans of what has happened since the last call, or of the first part of it.
func (t *term) next() (spans []Span, more bool) {
	t.spans = nil
	more, _ = t.follower.Step()
	return t.spans, more
}

// rebuild learns which tasks are starting, and adds the spans of what happened lately. What happened between the last change that it has seen and that has no
// traces.
func (t *term) rebuild(v *raftfsm.View) {
	if t.began && !t.behind {
		t.behind = true
		t.log.Warn("traces of tasks are missing: more happened at once than is remembered")
	}
	t.began, t.starting = true, map[string]waiting{}
	begin := t.now().Add(-overlap)
	for _, cluster := range v.Clusters() {
		for _, task := range v.Tasks(cluster.Name) {
			if task.LastStatus.Rank() < spec.Running.Rank() {
				t.starting[task.ID] = waiting{onHost: task.HostID != ""}
				continue
			}
			if cmp.Or(task.Times.Started, task.Times.Stopped).After(begin) {
				t.spans = append(t.spans, StartSpans(task, time.Time{})...)
			}
			if stopped(task) && task.Times.Stopped.After(begin) {
				t.spans = append(t.spans, StopSpans(task)...)
			}
		}
	}
}

func (t *term) apply(_ *raftfsm.View, changes []*change.Change) {
	for _, c := range changes {
		if task := c.Task(); task != nil && !c.Deleted {
			t.take(task, c.At)
		}
	}
}

// take adds the spans that are known with a change of a task at this moment.
func (t *term) take(task *spec.Task, at time.Time) {
	known, starting := t.starting[task.ID]
	if task.LastStatus.Rank() < spec.Running.Rank() {
		if task.HostID != "" && !known.onHost {
			known = waiting{onHost: true, placed: at}
		}
		t.starting[task.ID] = known
		return
	}
	if ended := task.LastStatus == spec.Stopped; starting && (ended || !task.Times.Started.IsZero()) {
		delete(t.starting, task.ID)
		t.spans = append(t.spans, StartSpans(task, known.placed)...)
	}
	// The service of a task notes once more that it has stopped.
	if noted := task.Service != nil && task.Service.Noted; stopped(task) && !noted {
		t.spans = append(t.spans, StopSpans(task)...)
	}
}

// stopped reports whether a task has run, and has stopped.
func stopped(task *spec.Task) bool {
	return task.LastStatus == spec.Stopped && !task.Times.Started.IsZero()
}
