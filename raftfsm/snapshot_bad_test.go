package raftfsm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
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

func TestABadSnapshotIsRefusedAndLeavesTheStateAlone(t *testing.T) {
	good := string(everything(t).snapshot(t))
	header, records := recordsOf(t, good)
	end := len(records) - 2 // the trailer is two fields, an empty name and itself
	level := fmt.Sprintf(`"featureLevel":%d`, FeatureLevel)
	joined := func(all ...[]string) string { return header + strings.Join(slices.Concat(all...), "") }
	if joined(records) != good {
		t.Fatal("the records are not divided as they were written")
	}
	for _, c := range []bad{
		{"empty", "", ErrDamaged},
		{"another file", "hello\n", ErrDamaged},
		{"another JSON file", "{}\n", ErrDamaged},
		{"a format before the first", strings.Replace(good, `"pinionSnapshot":1`, `"pinionSnapshot":-1`, 1), ErrDamaged},
		{"a later format", strings.Replace(good, `"pinionSnapshot":1`, `"pinionSnapshot":2`, 1), ErrNewer},
		{"a later feature level", strings.Replace(good, level, fmt.Sprintf(`"featureLevel":%d`, FeatureLevel+1), 1), ErrNewer},
		{"cut after a record", joined(records[:end]), ErrDamaged},
		{"a changed value", strings.Replace(good, "busybox", "busybix", 1), ErrDamaged},
		{"a record missing", joined(records[:end-2], records[end:]), ErrDamaged},
		{"records exchanged", joined(records[:end-4], records[end-2:end], records[end-4:end-2], records[end:]), ErrDamaged},
		{"more after the end", good + "\x00", ErrDamaged},
		{"twice the same", good + good, ErrDamaged},
		{"a table not known", crafted(t, func(w *recordWriter) { craft(t, w, "jobs", &spec.Team{Name: "a"}) }), ErrNewer},
		{"a field not known", crafted(t, func(w *recordWriter) { craft(t, w, "removed", &laterRemoved{ID: "a", Why: "old"}) }), ErrNewer},
		{"a field cut short", crafted(t, func(w *recordWriter) { fields(t, w, "\x00\x14teams", "\x01\x01\x00") }), ErrDamaged},
		{"a name that is none", crafted(t, func(w *recordWriter) { fields(t, w, "\x09", "") }), ErrDamaged},
		{"a record too long", crafted(t, func(w *recordWriter) { length(t, w, maxField+1) }), ErrDamaged},
		{"a record longer than the rest", crafted(t, func(w *recordWriter) { length(t, w, 1000) }), ErrDamaged},
		{"a length without an end", crafted(t, func(w *recordWriter) { raw(t, w, strings.Repeat("\xff", 11)) }), ErrDamaged},
		{"the end is missing", crafted(t, func(w *recordWriter) { craft(t, w, "removed", &spec.RemovedHost{ID: "a"}) }), ErrDamaged},
		{"nothing after the records", crafted(t, func(w *recordWriter) { fields(t, w, "") }), ErrDamaged},
		{"another sum", crafted(t, func(w *recordWriter) { finish(t, w, snapshotTrailer{SHA256: strings.Repeat("0", 64)}) }), ErrDamaged},
		{"more records than there are", strings.Replace(good, `"records":`, `"records":1`, 1), ErrDamaged},
	} {
		t.Run(c.name, c.check)
	}
}

// recordsOf divides a snapshot into its header and its fields, each with its length: two for a record.
func recordsOf(t *testing.T, snapshot string) (header string, fields []string) {
	t.Helper()
	header, rest, _ := strings.Cut(snapshot, "\n")
	for rest != "" {
		n, size := binary.Uvarint([]byte(rest))
		if size <= 0 || uint64(len(rest)-size) < n {
			t.Fatalf("no field: %q", rest)
		}
		fields, rest = append(fields, rest[:size+int(n)]), rest[size+int(n):]
	}
	return header + "\n", fields
}

// laterRemoved is RemovedHost as a later version might have it.
type laterRemoved struct {
	ID   string
	Name string
	At   time.Time
	Why  string
}

// crafted is a snapshot that has what write puts into it behind its header.
func crafted(t *testing.T, write func(w *recordWriter)) string {
	t.Helper()
	var snapshot bytes.Buffer
	if err := json.NewEncoder(&snapshot).Encode(snapshotHeader{snapshotFormat, FeatureLevel}); err != nil {
		t.Fatal(err)
	}
	write(&recordWriter{out: &snapshot})
	return snapshot.String()
}

func craft(t *testing.T, w *recordWriter, table string, object any) {
	t.Helper()
	fields(t, w, string(w.stream.Append(nil, &table)), string(w.stream.Append(nil, object)))
}

func fields(t *testing.T, w *recordWriter, all ...string) {
	t.Helper()
	for _, field := range all {
		if err := w.field([]byte(field)); err != nil {
			t.Fatal(err)
		}
	}
}

func length(t *testing.T, w *recordWriter, n uint64) {
	t.Helper()
	raw(t, w, string(binary.AppendUvarint(nil, n)))
}

func raw(t *testing.T, w *recordWriter, data string) {
	t.Helper()
	if _, err := io.WriteString(w.out, data); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, w *recordWriter, e snapshotTrailer) {
	t.Helper()
	if err := w.end(e); err != nil {
		t.Fatal(err)
	}
}

func TestARecordThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	w := &recordWriter{out: io.Discard}
	if err := w.write(tableTeams, &spec.Team{Name: strings.Repeat("x", maxField)}); err == nil {
		t.Error("it was written")
	}
}
