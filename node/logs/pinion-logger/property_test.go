package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/node/logs"
	"pinion/raftfsm/spec"
)

// written is a task whose containers log through real loggers, with what they wrote.
type written struct {
	t       *rapid.T
	store   *logs.Store
	clock   time.Time
	loggers map[string]*logFile
	texts   map[string][]string // by container, in order
	size    int64
}

func newWritten(t *rapid.T, dir string) *written {
	w := &written{
		t: t, store: logs.NewStore(dir), loggers: map[string]*logFile{}, texts: map[string][]string{},
		size: rapid.Int64Range(1, 3000).Draw(t, "bytes of a file"),
		// The file system's stamps come from the machine's clock: long before, long after, and close to those of the lines.
		clock: time.Now().Add(time.Duration(rapid.Int64Range(-2, 2).Draw(t, "hours")) * time.Hour),
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		w.start(fmt.Sprint("c", i))
	}
	return w
}

func (w *written) start(container string) {
	w.loggers[container] = newFile(w.store.Path("t", container), w.size, 10_000, 0, func() time.Time { return w.clock })
}

// step is something that happens to the host or to one container.
func (w *written) step(i int) {
	names := make([]string, 0, len(w.loggers))
	for name := range w.loggers {
		names = append(names, name)
	}
	slices.Sort(names)
	container := rapid.SampledFrom(names).Draw(w.t, "container")
	switch rapid.SampledFrom([]string{"write", "write", "write", "clock", "restart", "torn"}).Draw(w.t, "what") {
	case "write":
		var raw strings.Builder
		for n := range rapid.IntRange(1, 5).Draw(w.t, "lines") {
			text := fmt.Sprintf("%s %d.%d %s", container, i, n, strings.Repeat("x", rapid.IntRange(0, 300).Draw(w.t, "length")))
			w.texts[container] = append(w.texts[container], text)
			raw.WriteString(text + "\n")
		}
		w.loggers[container].writeLines("stdout", []byte(raw.String()), false)
	case "clock":
		w.clock = w.clock.Add(rapid.SampledFrom([]time.Duration{1, time.Microsecond, time.Millisecond, 4 * time.Millisecond, time.Second, time.Hour, -time.Millisecond, -time.Second, -24 * time.Hour}).Draw(w.t, "by"))
	case "restart":
		w.loggers[container].close()
		w.start(container)
	case "torn": // a power cut in the middle of a record
		w.loggers[container].close()
		f, err := os.OpenFile(w.store.Path("t", container), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprint(f, "1767322800000000005 o 9 to")
		f.Close()
		w.start(container)
	}
}

func (w *written) read(q spec.LogQuery) (lines []spec.LogLine) {
	q.Task = "t"
	err := w.store.Read(w.t.Context(), q, nil, func(l spec.LogLine) error { l.More = false; lines = append(lines, l); return nil })
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

// No line is lost: whatever the clock of the host does, however the files rotate and loggers end, and from whatever moment or with
// whatever tail the log is read, the answer has every line that it asks for, once and in order.
func TestNoLineIsLostForAnyBeginningTailRotationOrClock(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := newWritten(t, filepath.Join(dir, fmt.Sprint(time.Now().UnixNano())))
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			w.step(i)
		}
		defer func() {
			for _, l := range w.loggers {
				l.close()
			}
		}()
		all := w.read(spec.LogQuery{})
		w.checkWhole(all)
		if len(all) == 0 {
			return
		}
		of := rapid.SampledFrom(all).Draw(t, "line")
		since := of.Time.Add(rapid.SampledFrom([]time.Duration{0, 0, 1, -1, time.Millisecond, -time.Millisecond, time.Hour, -time.Hour}).Draw(t, "off"))
		container := rapid.SampledFrom([]string{"", of.Container}).Draw(t, "of")
		tail := rapid.IntRange(0, len(all)+2).Draw(t, "tail")
		q := spec.LogQuery{Container: container, Since: since}
		want := slices.DeleteFunc(slices.Clone(all), func(l spec.LogLine) bool {
			return l.Time.Before(since) || container != "" && l.Container != container
		})
		sameLines(t, "since", w.read(q), want)
		q = spec.LogQuery{Container: container, Tail: tail}
		want = slices.DeleteFunc(slices.Clone(all), func(l spec.LogLine) bool { return container != "" && l.Container != container })
		if tail > 0 && tail < len(want) {
			want = want[len(want)-tail:]
		}
		sameLines(t, "tail", w.read(q), want)
	})
}

func (w *written) checkWhole(all []spec.LogLine) {
	got := map[string][]string{}
	for _, l := range all {
		got[l.Container] = append(got[l.Container], l.Text)
	}
	for container, texts := range w.texts {
		if !slices.Equal(got[container], texts) {
			w.t.Fatalf("%s:\ngot  %q\nwant %q", container, got[container], texts)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b spec.LogLine) int { return a.Time.Compare(b.Time) }) {
		w.t.Fatal("the lines are not in the order of time")
	}
}

func sameLines(t *rapid.T, what string, got, want []spec.LogLine) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %d lines, want %d:\ngot  %v\nwant %v", what, len(got), len(want), got, want)
	}
}
