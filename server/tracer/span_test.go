package tracer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

func at(seconds int) time.Time { return raftfsmtest.Epoch.Add(time.Duration(seconds) * time.Second) }

// ran is a task that was asked for at 0, pulled from 2 to 5, ran from 6 to 60, and was gone at 63.
func ran() *spec.Task {
	return &spec.Task{
		ID: "t", Cluster: "default", Definition: "web:3", HostID: "h", Group: "service:web", CreatedAt: at(0), LastStatus: spec.Stopped,
		Containers: []spec.Container{{Name: "main", GPUs: []string{"GPU-1", "GPU-2"}}},
		Times:      spec.TaskTimes{PullStarted: at(2), PullStopped: at(5), Started: at(6), Stopping: at(60), ExecutionStopped: at(62), Stopped: at(63)},
	}
}

// drawn is a trace as people see it: each span with its seconds since the task was asked for.
func drawn(spans []Span) (lines []string) {
	for _, s := range spans {
		lines = append(lines, fmt.Sprintf("%s %v-%v", s.Name, s.Start.Sub(at(0)).Seconds(), s.End.Sub(at(0)).Seconds()))
	}
	return lines
}

func TestATraceIsCutAtTheMomentsOfATask(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*spec.Task)
		placed time.Time
		start  []string
	}{
		"as it should be":               {placed: at(1), start: []string{"task start 0-6", "place 0-1", "send 1-2", "pull images 2-5", "start containers 5-6"}},
		"nobody saw when it was placed": {start: []string{"task start 0-6", "place and send 0-2", "pull images 2-5", "start containers 5-6"}},
		"the clock of its host is behind": {
			change: func(t *spec.Task) { t.Times.PullStarted, t.Times.PullStopped = at(-9), at(-6) }, placed: at(1),
			start: []string{"task start 0-6", "place 0-1", "send 1-1", "pull images 1-1", "start containers 1-6"},
		},
		"the clock of its host is ahead": {
			change: func(t *spec.Task) { t.Times.PullStopped = at(100) }, placed: at(1),
			start: []string{"task start 0-6", "place 0-1", "send 1-2", "pull images 2-6", "start containers 6-6"},
		},
		"it never started": {
			change: func(t *spec.Task) {
				t.Times.PullStopped, t.Times.Started, t.StopCode = time.Time{}, time.Time{}, spec.StopFailedToStart
			}, placed: at(1),
			start: []string{"task start 0-63", "place 0-1", "send 1-2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			task := ran()
			if test.change != nil {
				test.change(task)
			}
			if got := drawn(StartSpans(task, test.placed)); !slices.Equal(got, test.start) {
				t.Errorf("%q\nwant %q", got, test.start)
			}
		})
	}
	if got, want := drawn(StopSpans(ran())), []string{"task stop 60-63", "stop containers 60-62", "release 62-63"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// A trace is whole: one root, which all other spans name; ids that differ within it and are the same on every host.
func TestATraceHasOneRoot(t *testing.T) {
	for name, make := range map[string]func() []Span{
		"start": func() []Span { return StartSpans(ran(), at(1)) },
		"stop":  func() []Span { return StopSpans(ran()) },
	} {
		spans, again, seen := make(), make(), map[[8]byte]bool{}
		for i, s := range spans {
			if isRoot := s.Parent == [8]byte{}; isRoot != (i == 0) || !isRoot && s.Parent != spans[0].ID || s.TraceID != spans[0].TraceID || seen[s.ID] {
				t.Errorf("%s: %q is no part of one trace: %x below %x of %x", name, s.Name, s.ID, s.Parent, s.TraceID)
			}
			if again[i].ID != s.ID || again[i].TraceID != s.TraceID {
				t.Errorf("%s: %q has another id when it is made again", name, s.Name)
			}
			seen[s.ID] = true
		}
	}
	start, stop := StartSpans(ran(), at(1))[0], StopSpans(ran())[0]
	if start.TraceID == stop.TraceID || *stop.Link != (Link{start.TraceID, start.ID}) {
		t.Errorf("the stop is linked to %v, the start is %x", stop.Link, start.ID)
	}
}

func TestOnlyWhatFailedIsAFailure(t *testing.T) {
	code := func(n int) func(*spec.Task) {
		return func(t *spec.Task) { t.StopCode, t.Containers[0].ExitCode = spec.StopEssentialExited, &n }
	}
	for name, test := range map[string]struct {
		change func(*spec.Task)
		failed bool
	}{
		"it ended":                {code(0), false},
		"it ended with a code":    {code(3), true},
		"somebody stopped it":     {func(t *spec.Task) { n := 143; t.StopCode, t.Containers[0].ExitCode = spec.StopUserInitiated, &n }, false},
		"it could not be started": {func(t *spec.Task) { t.StopCode = spec.StopFailedToStart }, true},
		"its GPU failed":          {func(t *spec.Task) { t.StopCode, t.StoppedReason = spec.StopEssentialExited, spec.GPUFault }, true},
	} {
		task := ran()
		task.StoppedReason = "because"
		test.change(task)
		if got := StopSpans(task)[0].Failure; (got != "") != test.failed {
			t.Errorf("%s: %q", name, got)
		}
	}
}
