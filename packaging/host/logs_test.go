package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/api/cloudwatchlogs"
	"pinion/node/logs"
	"pinion/node/logs/record"
	"pinion/raftfsm"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
)

// cloudWatchLogs are the operations of CloudWatch Logs over a real store of log files.
type cloudWatchLogs struct {
	t     *rapid.T
	store *logs.Store
	view  *raftfsm.View
}

// Read is cloudwatchlogs.Logs.
func (c *cloudWatchLogs) Read(ctx context.Context, _ *spec.Task, q spec.LogQuery, emit func(spec.LogLine) error) error {
	return c.store.Read(ctx, q, nil, emit)
}

// event is a line as clients get it.
type event struct {
	Timestamp int64
	Message   string
}

type page struct {
	Events                                         []event
	NextToken, NextForwardToken, NextBackwardToken string
}

func (c *cloudWatchLogs) call(name string, input map[string]any) (p page) {
	c.t.Helper()
	operation, err := cloudwatchlogs.Find(name)
	if err != nil {
		c.t.Fatal(err)
	}
	body, _ := json.Marshal(input)
	out, err := operation.Run(c.t.Context(), &cloudwatchlogs.Request{View: c.view, Logs: c}, body)
	if err != nil {
		c.t.Fatalf("%s %s: %v", name, body, err)
	}
	text, _ := json.Marshal(out)
	if err := json.Unmarshal(text, &p); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// pages reads all pages in one direction; first is the input of the first one.
func (c *cloudWatchLogs) pages(name string, first map[string]any, next func(page) string) (all []event) {
	p := c.call(name, first)
	for tokens := map[string]bool{}; ; {
		if token := next(p); token != "" && strings.HasPrefix(token, "b/") {
			all = append(slices.Clone(p.Events), all...)
		} else {
			all = append(all, p.Events...)
		}
		token := next(p)
		if token == "" || tokens[token] {
			return all
		}
		tokens[token] = true
		first["nextToken"] = token
		p = c.call(name, first)
	}
}

// taskView is a state with one task that logs to the group g.
func taskView(t *rapid.T) *raftfsm.View {
	state, began := raftfsm.NewState(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	container := spec.ContainerDefinition{Name: "c", Image: "i", Essential: new(true), LogConfiguration: &logdriver.Configuration{
		LogDriver: "awslogs", Options: map[string]string{"awslogs-group": "g", "awslogs-stream-prefix": "p"}}}
	task := &spec.Task{ID: "t", Cluster: "default", Definition: "f:1", HostID: "h", LastStatus: spec.Pending, DesiredStatus: spec.Running,
		Version: 1, CreatedAt: began, Containers: []spec.Container{{ID: "t", Name: "c", Image: "i", LastStatus: spec.Pending}}}
	for i, command := range []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p", CreatedAt: began}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{container}, RegisteredAt: began}},
		raftfsm.PutHost{Host: spec.Host{ID: "h", Name: "h", Cluster: "default", Status: spec.HostActive, CPU: 1 << 20, MemoryMiB: 1 << 30, RegisteredAt: began}},
		raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{task}, At: began}}},
	} {
		if _, err := state.Apply(uint64(i+1), command); err != nil {
			t.Fatal(err)
		}
	}
	return state.View()
}

// writeLog writes lines in the order of time into rotated files, whose own stamps are a little before those of the last lines, as
// those of a kernel with a coarse clock are.
func writeLog(t *rapid.T, path string, first time.Time) (events []event) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	at, raw, file := first, []byte(nil), rapid.IntRange(0, 5).Draw(t, "rotated")
	flush := func() {
		name := path
		if file > 0 {
			name += "." + strconv.Itoa(file)
		}
		coarse := at.Add(-rapid.SampledFrom([]time.Duration{0, 1, 4 * time.Millisecond, 10 * time.Millisecond}).Draw(t, "coarse by"))
		if os.WriteFile(name, raw, 0o600) != nil || os.Chtimes(name, coarse, coarse) != nil {
			t.Fatal("cannot write " + name)
		}
		raw, file = nil, file-1
	}
	for i := range rapid.IntRange(0, 60).Draw(t, "lines") {
		at = at.Add(rapid.SampledFrom([]time.Duration{0, 0, 1, time.Microsecond, 3 * time.Millisecond, time.Second}).Draw(t, "later by"))
		events = append(events, event{at.UnixMilli(), fmt.Sprint("line ", i)})
		raw = record.Append(raw, record.Record{Time: at, Stream: "stdout", Text: fmt.Append(nil, "line ", i)})
		if file > 0 && rapid.Bool().Draw(t, "rotate") {
			flush()
		}
	}
	for file >= 0 {
		flush()
	}
	return events
}

// No event is lost for any start, end or page size, in any direction, by any operation.
func TestNoLogEventIsLostForAnyStartEndOrPageSize(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		c := &cloudWatchLogs{t, logs.NewStore(filepath.Join(dir, fmt.Sprint(time.Now().UnixNano()))), taskView(t)}
		written := writeLog(t, c.store.Path("t", "c"), time.Date(2026, 1, 2, 3, 4, 6, rapid.IntRange(0, 999_999_999).Draw(t, "ns"), time.UTC))
		input := func() map[string]any {
			return map[string]any{"logGroupName": "g", "limit": rapid.IntRange(1, 12).Draw(t, "limit")}
		}
		get, filter := input(), input()
		get["logStreamName"] = "p/c/t"
		between := func(member string, from, to int64) (int64, int64) {
			if len(written) == 0 || !rapid.Bool().Draw(t, member) {
				return from, to
			}
			at := rapid.SampledFrom(written).Draw(t, member+" at").Timestamp + rapid.Int64Range(-1, 1).Draw(t, member+" by")
			get[member], filter[member] = at, at
			return at, at
		}
		start, _ := between("startTime", 0, 0)
		_, end := between("endTime", 0, 1<<62)
		within := func(last int64) []event {
			return slices.DeleteFunc(slices.Clone(written), func(e event) bool { return e.Timestamp < start || e.Timestamp >= last })
		}
		check := func(what string, got, want []event) {
			if !slices.Equal(got, want) {
				t.Fatalf("%s from %d to %d:\ngot  %v\nwant %v", what, start, end, got, want)
			}
		}
		backward := c.pages("GetLogEvents", get, func(p page) string { return p.NextBackwardToken })
		check("backwards", backward, within(end))
		delete(get, "nextToken")
		get["startFromHead"] = true
		check("forwards", c.pages("GetLogEvents", get, func(p page) string { return p.NextForwardToken }), within(end))
		check("the search", c.pages("FilterLogEvents", filter, func(p page) string { return p.NextToken }), within(end+1))
	})
}
