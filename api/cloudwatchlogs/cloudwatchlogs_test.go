package cloudwatchlogs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fixture is a state with tasks and what they have written.
type fixture struct {
	state *raftfsm.State
	index uint64
	logs  map[string][]spec.LogLine // by "task/container"
	down  map[string]bool           // hosts that do not answer
	lines atomic.Int64              // read of all streams
}

func newFixture(t testing.TB) *fixture {
	w := &fixture{state: raftfsm.NewState(), logs: map[string][]spec.LogLine{}, down: map[string]bool{}}
	w.do(t, raftfsm.CreatePool{Pool: spec.Pool{ID: "f", CreatedAt: epoch}})
	return w
}

// Propose is Store.
func (w *fixture) Propose(_ context.Context, command raftfsm.Command) (any, error) {
	w.index++
	return w.state.Apply(w.index, command)
}

func (w *fixture) do(t testing.TB, command raftfsm.Command) any {
	t.Helper()
	w.index++
	answer, err := w.state.Apply(w.index, command)
	if err != nil {
		t.Fatalf("%T: %v", command, err)
	}
	return answer
}

// define registers a definition with one container "c" that logs to a group; none: without a log configuration.
func (w *fixture) define(t testing.TB, family, group string) {
	container := spec.ContainerDefinition{Name: "c", Image: "i", Essential: new(true)}
	if group != "" {
		container.LogConfiguration = &logdriver.Configuration{LogDriver: "awslogs", Options: map[string]string{"awslogs-group": group, "awslogs-stream-prefix": "p"}}
	}
	w.do(t, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: family, Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{container}, RegisteredAt: epoch}})
}

// run records a task of family:1 on a host, and what it wrote.
func (w *fixture) run(t testing.TB, family, id, host string, lines ...spec.LogLine) {
	t.Helper()
	if w.state.View().Host(host) == nil {
		w.do(t, raftfsm.PutHost{Host: spec.Host{ID: host, Name: host, Cluster: "default", Status: spec.HostActive, CPU: 1 << 20, MemoryMiB: 1 << 30, RegisteredAt: epoch}})
	}
	task := &spec.Task{ID: id, Cluster: "default", Definition: family + ":1", HostID: host, LastStatus: spec.Pending, DesiredStatus: spec.Running,
		Version: 1, CreatedAt: epoch, Containers: []spec.Container{{ID: id, Name: "c", Image: "i", LastStatus: spec.Pending}}}
	answer := w.do(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{task}, At: epoch}}})
	if result := answer.([]raftfsm.LaunchResult)[0]; result.Err != nil || len(result.Result.Tasks) != 1 {
		t.Fatalf("task %s was not recorded: %+v", id, result)
	}
	w.logs[id+"/c"] = lines
}

// stopTask has the host report the task STOPPED.
func (w *fixture) stopTask(t testing.TB, id, host string, at time.Time) {
	w.do(t, raftfsm.ReportTasks{HostID: host, Reports: []spec.TaskReport{{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at}}}})
}

// Read is Logs, as a host's store does it.
func (w *fixture) Read(ctx context.Context, task *spec.Task, q spec.LogQuery, emit func(spec.LogLine) error) error {
	if w.down[task.HostID] {
		return fmt.Errorf("host %s cannot be reached", task.HostID)
	}
	lines := w.logs[q.Task+"/"+q.Container]
	if q.Tail > 0 && len(lines) > q.Tail {
		lines = lines[len(lines)-q.Tail:]
	}
	for _, l := range lines {
		if l.Time.Before(q.Since) {
			continue
		}
		w.lines.Add(1)
		if err := cmp.Or(ctx.Err(), emit(l)); err != nil {
			return err
		}
	}
	return nil
}

// at is a line that was written so many milliseconds after the epoch.
func at(ms float64, text string) spec.LogLine {
	return spec.LogLine{Time: epoch.Add(time.Duration(ms * float64(time.Millisecond))), Container: "c", Stream: "stdout", Text: text}
}

// numbered are n lines, so many of them with each stamp.
func numbered(n, together int) (lines []spec.LogLine) {
	for i := range n {
		lines = append(lines, at(float64(i/together), fmt.Sprintf("line %d", i)))
	}
	return lines
}

func texts(lines []spec.LogLine) (all []string) {
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return all
}

// answer is what any operation answers, as clients see it.
type answer struct {
	LogGroups          []logGroup
	LogStreams         []logStream
	Events             []filteredEvent
	SearchedLogStreams []searchedStream
	NextToken          string
	NextForwardToken   string
	NextBackwardToken  string
	Tags               map[string]string

	warnings []string
}

func (a answer) texts() (all []string) {
	for _, e := range a.Events {
		all = append(all, e.Message)
	}
	return all
}

func (w *fixture) try(t testing.TB, name string, in map[string]any) (answer, error) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	operation, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	call := &Request{Region: "us-east-2", View: w.state.View(), Logs: w, Store: w, Now: func() time.Time { return epoch }}
	out, err := operation.Run(t.Context(), call, body)
	if err != nil {
		return answer{}, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	a.warnings = call.Warnings
	return a, nil
}

func (w *fixture) call(t testing.TB, name string, in map[string]any) answer {
	t.Helper()
	a, err := w.try(t, name, in)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return a
}

func (w *fixture) wantError(t testing.TB, name string, in map[string]any, kind, message string) {
	t.Helper()
	_, err := w.try(t, name, in)
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok || refusal.Type != kind || refusal.Message != message {
		t.Errorf("%s %v\ngot  %v\nwant %s: %s", name, in, err, kind, message)
	}
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}
