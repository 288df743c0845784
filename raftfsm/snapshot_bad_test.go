package raftfsm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"pinion/raftfsm/spec"
	"strings"
	"testing"
	"time"
)

// bad is a snapshot that is refused.
type bad struct {
	name, snapshot string
	want           error
}

func (c bad) check(t *testing.T) {
	h := newHistory(t)
	before := h.snapshot(t)
	_, watch := h.View().Assignments("h1")
	err := h.Restore(strings.NewReader(c.snapshot))
	if !errors.Is(err, c.want) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("the state changed")
	}
	select {
	case <-watch:
		t.Error("whoever waits was woken")
	default:
	}
}

func TestABadSnapshotOfLinesIsRefusedAndLeavesTheStateAlone(t *testing.T) {
	good := string(everything(t, 1).snapshot(t))
	lines := strings.SplitAfter(strings.TrimSuffix(good, "\n"), "\n")
	end := len(lines) - 1
	for _, c := range []bad{
		{"empty", "", ErrDamaged},
		{"another file", "hello\n", ErrDamaged},
		{"another JSON file", "{}\n", ErrDamaged},
		{"a format before the first", strings.Replace(good, `"pinionSnapshot":1`, `"pinionSnapshot":-1`, 1), ErrDamaged},
		{"a later format", strings.Replace(good, `"pinionSnapshot":1`, `"pinionSnapshot":3`, 1), ErrNewer},
		{"a later feature level", strings.Replace(good, `"featureLevel":1`, fmt.Sprintf(`"featureLevel":%d`, FeatureLevel+1), 1), ErrNewer},
		{"the format of others", strings.Replace(good, `"pinionSnapshot":1`, `"pinionSnapshot":2`, 1), ErrDamaged},
		{"a table not known", strings.Replace(good, `"table":"tasks"`, `"table":"jobs"`, 1), ErrNewer},
		{"a field not known", strings.Replace(good, `"hostId":`, `"nodeId":`, 1), ErrNewer},
		{"cut after a line", strings.Join(lines[:end], ""), ErrDamaged},
		{"a changed value", strings.Replace(good, `"cpu":100`, `"cpu":101`, 1), ErrDamaged},
		{"a line missing", strings.Join(append(lines[:5:5], lines[6:]...), ""), ErrDamaged},
		{"lines exchanged", strings.Join(append([]string{lines[0], lines[2], lines[1]}, lines[3:]...), ""), ErrDamaged},
		{"more after the end", good + good, ErrDamaged},
	} {
		t.Run(c.name, c.check)
	}
}

func TestABadSnapshotOfChunksIsRefusedAndLeavesTheStateAlone(t *testing.T) {
	good := string(everything(t, FeatureLevel).snapshot(t))
	for _, c := range []bad{
		{"a later format", strings.Replace(good, `"pinionSnapshot":2`, `"pinionSnapshot":3`, 1), ErrNewer},
		{"a later feature level", strings.Replace(good, fmt.Sprintf(`"featureLevel":%d`, FeatureLevel), fmt.Sprintf(`"featureLevel":%d`, FeatureLevel+1), 1), ErrNewer},
		{"the format of others", strings.Replace(good, `"pinionSnapshot":2`, `"pinionSnapshot":1`, 1), ErrDamaged},
		{"more after the end", good + "\x00", ErrDamaged},
		{"twice the same", good + good, ErrDamaged},
		{"a table not known", crafted(t, func(w *chunkWriter) { craft(t, w, "jobs", &spec.Team{Name: "a"}) }), ErrNewer},
		{"a field not known", crafted(t, func(w *chunkWriter) { craft(t, w, "removed", &laterRemoved{ID: "a", Why: "old"}) }), ErrNewer},
		{"a field cut short", crafted(t, func(w *chunkWriter) { chunks(t, w, "\x00\x14teams", "\x01\x01\x00") }), ErrDamaged},
		{"a name that is none", crafted(t, func(w *chunkWriter) { chunks(t, w, "\x09", "") }), ErrDamaged},
		{"a record too long", crafted(t, func(w *chunkWriter) { length(t, w, maxChunk+1) }), ErrDamaged},
		{"a record longer than the rest", crafted(t, func(w *chunkWriter) { length(t, w, 1000) }), ErrDamaged},
		{"a length without an end", crafted(t, func(w *chunkWriter) { raw(t, w, strings.Repeat("\xff", 11)) }), ErrDamaged},
		{"the end is missing", crafted(t, func(w *chunkWriter) { craft(t, w, "removed", &spec.RemovedHost{ID: "a"}) }), ErrDamaged},
		{"nothing after the records", crafted(t, func(w *chunkWriter) { chunks(t, w, "") }), ErrDamaged},
		{"another sum", crafted(t, func(w *chunkWriter) { finish(t, w, snapshotTrailer{SHA256: strings.Repeat("0", 64)}) }), ErrDamaged},
		{"more records than there are", strings.Replace(good, `"records":`, `"records":1`, 1), ErrDamaged},
	} {
		t.Run(c.name, c.check)
	}
}

// laterRemoved is RemovedHost as a later version might have it.
type laterRemoved struct {
	ID   string
	Name string
	At   time.Time
	Why  string
}

// crafted is a snapshot of chunks that has what write puts into it behind its header.
func crafted(t *testing.T, write func(w *chunkWriter)) string {
	t.Helper()
	var snapshot bytes.Buffer
	if err := json.NewEncoder(&snapshot).Encode(snapshotHeader{formatChunks, FeatureLevel}); err != nil {
		t.Fatal(err)
	}
	write(&chunkWriter{out: &snapshot})
	return snapshot.String()
}

func craft(t *testing.T, w *chunkWriter, table string, object any) {
	t.Helper()
	chunks(t, w, string(w.stream.Append(nil, &table)), string(w.stream.Append(nil, object)))
}

func chunks(t *testing.T, w *chunkWriter, all ...string) {
	t.Helper()
	for _, chunk := range all {
		if err := w.chunk([]byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
}

func length(t *testing.T, w *chunkWriter, n uint64) {
	t.Helper()
	raw(t, w, string(binary.AppendUvarint(nil, n)))
}

func raw(t *testing.T, w *chunkWriter, data string) {
	t.Helper()
	if _, err := io.WriteString(w.out, data); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, w *chunkWriter, e snapshotTrailer) {
	t.Helper()
	if err := w.end(e); err != nil {
		t.Fatal(err)
	}
}

func TestARecordThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	w := &chunkWriter{out: io.Discard}
	if err := w.record(tableTeams, &spec.Team{Name: strings.Repeat("x", maxChunk)}); err == nil {
		t.Error("it was written")
	}
}
