package tracer

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/spec"
)

// Span is a part of what happened to a task, as OpenTelemetry has spans.
type Span struct {
	TraceID [16]byte
	ID      [8]byte
	Parent  [8]byte // zero: it is the root of its trace
	Link    *Link   // to another trace of the task; nil: none
	Name    string
	Start   time.Time
	End     time.Time // not before Start
	Text    []Attribute
	Failure string // why it failed; empty: it did not
}

// Link names a span of another trace.
type Link struct {
	TraceID [16]byte
	ID      [8]byte
}

// Attribute is a name of OpenTelemetry's semantic conventions, or one of ours that begins with "pinion.", and its value.
type Attribute struct{ Name, Value string }

// The two traces of a task, by the names of their roots. Both are complete when they are exported, which one trace of a task that runs for months would not be.
const (
	startTrace = "task start"
	stopTrace  = "task stop"
)

// StartSpans are the trace of a task's way to RUNNING, or to STOPPED when it never ran. placed is when it got its host; zero: that is not known.
// The same task has the same ids at every call, on every host.
func StartSpans(t *spec.Task, placed time.Time) []Span {
	at := t.Times
	end := cmp.Or(at.Started, at.Stopped)
	root := span(t, startTrace, startTrace, t.CreatedAt, end)
	if at.Started.IsZero() {
		root.Failure = failure(t)
	}
	steps := steps{task: t, trace: startTrace, parent: root.ID, at: t.CreatedAt, end: end}
	if placed.IsZero() {
		steps.until("place and send", at.PullStarted)
	} else {
		steps.until("place", placed)
		steps.until("send", at.PullStarted)
	}
	steps.until("pull images", at.PullStopped)
	steps.until("start containers", at.Started)
	return append([]Span{root}, steps.spans...)
}

// StopSpans are the trace of how a task that ran was stopped. It is linked to the trace of its start.
func StopSpans(t *spec.Task) []Span {
	at := t.Times
	begin := cmp.Or(at.Stopping, at.ExecutionStopped, at.Stopped)
	root := span(t, stopTrace, stopTrace, begin, at.Stopped)
	root.Failure = failure(t)
	root.Link = &Link{traceID(t, startTrace), spanID(t, startTrace, startTrace)}
	steps := steps{task: t, trace: stopTrace, parent: root.ID, at: begin, end: at.Stopped}
	steps.until("stop containers", at.ExecutionStopped)
	steps.until("release", at.Stopped)
	return append([]Span{root}, steps.spans...)
}

// steps cuts the time of a trace into spans that follow each other.
type steps struct {
	task   *spec.Task
	trace  string
	parent [8]byte
	at     time.Time // the end of the last step
	end    time.Time // of the trace
	spans  []Span
}

// until adds the step that ended then. A moment that is zero did not come: nothing is added. Clocks of hosts differ: a moment before the last step
// is taken for its end, one behind the trace for its end.
func (s *steps) until(name string, then time.Time) {
	if then.IsZero() {
		return
	}
	if then.Before(s.at) {
		then = s.at
	}
	if then.After(s.end) {
		then = s.end
	}
	next := span(s.task, s.trace, name, s.at, then)
	next.Parent = s.parent
	s.spans, s.at = append(s.spans, next), then
}

func span(t *spec.Task, trace, name string, start, end time.Time) Span {
	if end.Before(start) {
		end = start
	}
	return Span{TraceID: traceID(t, trace), ID: spanID(t, trace, name), Name: name, Start: start, End: end, Text: attributes(t)}
}

func traceID(t *spec.Task, trace string) (id [16]byte) {
	sum := sha256.Sum256([]byte("trace " + trace + " " + t.ID))
	copy(id[:], sum[:])
	return id
}

func spanID(t *spec.Task, trace, name string) (id [8]byte) {
	sum := sha256.Sum256([]byte("span " + trace + " " + name + " " + t.ID))
	copy(id[:], sum[:])
	return id
}

// attributes are by https://opentelemetry.io/docs/specs/semconv/resource/cloud-provider/aws/ecs/ where that has a name. No text of users that may be long is among them.
func attributes(t *spec.Task) []Attribute {
	family, revision, _ := strings.Cut(t.Definition, ":")
	all := []Attribute{
		{"aws.ecs.task.id", t.ID}, {"aws.ecs.task.family", family}, {"aws.ecs.task.revision", revision},
		{"pinion.cluster", t.Cluster}, {"pinion.task.group", t.Group}, {"pinion.host.id", t.HostID}, {"pinion.task.gpus", strings.Join(t.GPUs(), " ")},
	}
	return slices.DeleteFunc(all, func(a Attribute) bool { return a.Value == "" })
}

// failure is why a task has not ended as its definition says; empty: it has, or somebody stopped it.
func failure(t *spec.Task) string {
	exited := slices.ContainsFunc(t.Containers, func(c spec.Container) bool { return c.ExitCode != nil && *c.ExitCode != 0 })
	if t.StopCode != spec.StopFailedToStart && !t.StoppedAsFailed() && !(exited && t.StopCode == spec.StopEssentialExited) {
		return ""
	}
	reasons := []string{t.StoppedReason}
	for i := range t.Containers {
		if c := &t.Containers[i]; c.Reason != "" {
			reasons = append(reasons, c.Name+": "+c.Reason)
		}
	}
	return strings.Join(reasons, "; ")
}
