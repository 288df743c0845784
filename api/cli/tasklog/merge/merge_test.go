package merge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// logHost answers for the logs of tasks: lines of task N are N, N+step, N+2*step ... milliseconds after noon.
type logHost struct {
	lines, step int
	open, most  atomic.Int32
	fails       func(task string, try int) int // the status that a stream begins with, 0 for a good one; nil: all are good
	stop        map[string]chan struct{}       // tasks that go on until it is closed

	mu    sync.Mutex
	tries map[string]int
}

func (h *logHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	task, isLog := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/tasks/"), "/logs")
	if !isLog {
		io.WriteString(w, "[]")
		return
	}
	h.most.Store(max(h.most.Load(), h.open.Add(1)))
	defer h.open.Add(-1)
	h.mu.Lock()
	h.tries[task]++
	try := h.tries[task]
	h.mu.Unlock()
	if h.fails != nil {
		if status := h.fails(task, try); status != 0 {
			w.WriteHeader(status)
			io.WriteString(w, `{"__type":"ServerException","message":"its host cannot be reached"}`)
			return
		}
	}
	first, _ := strconv.Atoi(task)
	since, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("since"))
	out := json.NewEncoder(w)
	for i := range h.lines {
		at := noon.Add(time.Duration(first+i*h.step) * time.Millisecond)
		if at.Before(since) {
			continue
		}
		if out.Encode(client.LogLine{Time: at, Container: "c", Stream: "stdout", Text: fmt.Sprintf("%s/%d", task, i)}) != nil {
			return
		}
	}
	if r.URL.Query().Get("mark") != "" {
		io.WriteString(w, "\n")
		w.(http.Flusher).Flush()
		select {
		case <-h.stop[task]:
		case <-r.Context().Done():
		}
	}
}

// serve serves the host, and returns how a command line sees it.
func (h *logHost) serve(t *testing.T) (*invocation.Invocation, *strings.Builder) {
	t.Helper()
	h.tries = map[string]int{}
	dir, err := os.MkdirTemp("", "pinion-merge")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	c, err := client.New(client.Config{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	notes := &strings.Builder{}
	return &invocation.Invocation{Client: c, Err: notes, Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}, notes
}

func source(i int) Source {
	return Source{Task: client.Task{ARN: fmt.Sprint("arn:aws:ecs:r:1:task/default/", i)}, Label: fmt.Sprint("task", i)}
}

// mergeAll merges the logs of so many tasks until they have ended.
func mergeAll(t *testing.T, inv *invocation.Invocation, q client.LogQuery, tasks int, emit func(Source, client.LogLine) error) (lines []client.LogLine, err error) {
	t.Helper()
	m := New(t.Context(), inv, q)
	for i := range tasks {
		if err := m.Add(source(i)); err != nil {
			t.Fatal(err)
		}
	}
	m.Close()
	err = m.Run(t.Context(), func(s Source, line client.LogLine) error {
		lines = append(lines, line)
		if emit != nil {
			return emit(s, line)
		}
		return nil
	})
	return lines, err
}

// wantInOrder wants every line of so many tasks once, by time.
func wantInOrder(t *testing.T, lines []client.LogLine, want int) {
	t.Helper()
	if !slices.IsSortedFunc(lines, func(a, b client.LogLine) int { return a.Time.Compare(b.Time) }) {
		t.Error("the lines are not in the order of time")
	}
	seen := map[string]bool{}
	for _, line := range lines {
		seen[line.Text] = true
	}
	if len(lines) != want || len(seen) != want {
		t.Errorf("%d lines, %d different ones, want %d", len(lines), len(seen), want)
	}
}

// The logs of more tasks than are read at once are merged in order, with a bounded number of streams.
func TestManyLogsTakeTurns(t *testing.T) {
	const tasks = 3 * maxStreams
	h := &logHost{lines: 3*bufferLines + 7, step: 3}
	inv, _ := h.serve(t)
	lines, err := mergeAll(t, inv, client.LogQuery{}, tasks, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantInOrder(t, lines, tasks*h.lines)
	if most := h.most.Load(); most > maxStreams+tasks/8 { // a host notices the end of a stream a little later
		t.Errorf("%d streams were open at once", most)
	}
}

func TestAHostThatDoesNotAnswerIsNamedAndTheRestGoesOn(t *testing.T) {
	h := &logHost{lines: 50, step: 2, fails: func(task string, _ int) int {
		if task == "1" {
			return http.StatusInternalServerError
		}
		return 0
	}}
	inv, notes := h.serve(t)
	lines, err := mergeAll(t, inv, client.LogQuery{}, 3, nil)
	wantInOrder(t, lines, 2*h.lines)
	if err == nil || !strings.Contains(err.Error(), "task1") || !strings.Contains(notes.String(), "task1") {
		t.Errorf("%v; %s", err, notes)
	}
}

func TestAHostThatAnswersAgainLosesNoLine(t *testing.T) {
	h := &logHost{lines: 50, step: 2, fails: func(task string, try int) int {
		if task == "1" && try <= tries {
			return http.StatusInternalServerError
		}
		return 0
	}}
	inv, notes := h.serve(t)
	lines, err := mergeAll(t, inv, client.LogQuery{}, 3, nil)
	seen := map[string]bool{}
	for _, line := range lines {
		seen[line.Text] = true
	}
	if err != nil || len(lines) != 3*h.lines || len(seen) != len(lines) || !strings.Contains(notes.String(), "answers again") {
		t.Errorf("%d lines, %d different ones, %v: %s", len(lines), len(seen), err, notes)
	}
}

// Tasks that are followed leave when they have ended, and those that are added join.
func TestFollowedTasksJoinAndLeave(t *testing.T) {
	h := &logHost{lines: 5, step: 2, stop: map[string]chan struct{}{"0": make(chan struct{}), "1": make(chan struct{})}}
	inv, notes := h.serve(t)
	m := New(t.Context(), inv, client.LogQuery{Follow: true})
	if err := m.Add(source(0)); err != nil {
		t.Fatal(err)
	}
	var lines []client.LogLine
	err := m.Run(t.Context(), func(s Source, line client.LogLine) error {
		lines = append(lines, line)
		switch {
		case s.Label == "task0" && line.Text == "0/4":
			close(h.stop["0"])
			return m.Add(source(1))
		case s.Label == "task1" && line.Text == "1/4":
			close(h.stop["1"])
			m.Close()
		}
		return nil
	})
	if err != nil || len(lines) != 10 || !strings.Contains(notes.String(), "task0 has ended") || !strings.Contains(notes.String(), "task1 has ended") {
		t.Errorf("%v, %v: %s", lines, err, notes)
	}
}

func TestAnErrorOfWhoReadsEndsTheMerge(t *testing.T) {
	h := &logHost{lines: 5, step: 1}
	inv, _ := h.serve(t)
	broken := errors.New("broken")
	if _, err := mergeAll(t, inv, client.LogQuery{}, 2, func(Source, client.LogLine) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestTooManyTasksAreRefused(t *testing.T) {
	h := &logHost{lines: 1, step: 1}
	inv, _ := h.serve(t)
	m := New(t.Context(), inv, client.LogQuery{})
	for range MaxTasks {
		m.queues.add(source(0))
	}
	if err := m.Add(source(1)); err == nil {
		t.Error("it is taken")
	}
}
