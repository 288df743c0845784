package cloudwatchlogs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// fakeEnded is a history of some tasks.
type fakeEnded struct {
	tasks []ended.Task
	err   error
}

func (f fakeEnded) Find(q ended.Query) (page ended.Page, err error) {
	for _, t := range f.tasks {
		if q.Family == t.Family() && q.Allowed(t.Task.Cluster, t.Team()) && !t.Task.Times.Stopped.Before(q.Since) {
			page.Tasks = append(page.Tasks, t)
		}
	}
	return page, f.err
}

func (f fakeEnded) Task(id string) (*ended.Task, error) {
	for i := range f.tasks {
		if f.tasks[i].Task.ID == id {
			return &f.tasks[i], f.err
		}
	}
	return nil, f.err
}

// forgotten is a fixture whose state has reaped the task of a stream, and the history that has it.
func forgotten(t *testing.T) (*fixture, fakeEnded) {
	t.Helper()
	w := oneStream(t, at(1, "a"), at(2, "b"))
	w.stopTask(t, "one", "h", epoch.Add(time.Minute))
	past := fakeEnded{tasks: []ended.Task{{Task: *w.state.View().Task("one")}}}
	past.tasks[0].Task.Tags = []spec.Tag{{Key: spec.TagTeam, Value: "vision"}}
	w.do(t, raftfsm.Reap{Before: epoch.Add(time.Hour)})
	if w.state.View().Task("one") != nil {
		t.Fatal("the state has not forgotten the task")
	}
	return w, past
}

// asking is a request of a principal, long after the task has ended.
func (w *fixture) asking(past fakeEnded, p auth.Principal) *Request {
	return &Request{View: w.state.View(), Logs: w, KeyClusters: p.Clusters, Ended: past, Sees: p.Sees, Now: func() time.Time { return epoch.Add(48 * time.Hour) }}
}

func TestTheLogOfATaskThatTheStateHasForgottenIsRead(t *testing.T) {
	w, past := forgotten(t)
	call := w.asking(past, auth.Principal{})
	got, err := call.getLogEvents(t.Context(), &getLogEventsInput{LogGroupName: "g", LogStreamName: "p/c/one", StartFromHead: true})
	if err != nil || len(got.Events) != 2 || got.Events[1].Message != "b" {
		t.Errorf("%+v, %v", got, err)
	}
	streams, err := call.describeLogStreams(t.Context(), &describeLogStreamsInput{LogGroupName: "g"})
	if err != nil || len(streams.LogStreams) != 1 || streams.LogStreams[0].LogStreamName != "p/c/one" {
		t.Errorf("%+v, %v", streams, err)
	}
	past.err = errors.New("the disk is gone")
	call = w.asking(past, auth.Principal{})
	if _, err := call.describeLogStreams(t.Context(), &describeLogStreamsInput{LogGroupName: "g"}); err != nil || !strings.Contains(strings.Join(call.Warnings, ""), "the disk is gone") {
		t.Errorf("%v, warnings %v", err, call.Warnings)
	}
}

// Keys of other clusters and teams try to read what has ended.
func TestTheLogOfAForgottenTaskIsForItsClusterAndTeamAlone(t *testing.T) {
	w, past := forgotten(t)
	for name, c := range map[string]struct {
		principal auth.Principal
		may       bool
	}{
		"of its cluster":    {auth.Principal{Clusters: "default"}, true},
		"of its team":       {auth.Principal{Grant: accesskey.Grant{Teams: []string{"vision"}}}, true},
		"of another":        {auth.Principal{Clusters: "lab"}, false},
		"of another team":   {auth.Principal{Grant: accesskey.Grant{Teams: []string{"speech"}}}, false},
		"of neither of two": {auth.Principal{Clusters: "default", Grant: accesskey.Grant{Teams: []string{"speech"}}}, false},
	} {
		got, err := w.asking(past, c.principal).getLogEvents(t.Context(), &getLogEventsInput{LogGroupName: "g", LogStreamName: "p/c/one"})
		if c.may != (err == nil) {
			t.Errorf("a key %s: %+v, %v", name, got, err)
		}
		streams, err := w.asking(past, c.principal).describeLogStreams(t.Context(), &describeLogStreamsInput{LogGroupName: "g"})
		if !c.may && err == nil && len(streams.LogStreams) > 0 {
			t.Errorf("a key %s lists %+v", name, streams)
		}
	}
}
