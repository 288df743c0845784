package snapshot

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/codec"
)

// team and host are the objects of two tables.
type (
	team struct{ Name string }
	host struct{ ID, Name string }
)

// laterHost is host as a later version might have it.
type laterHost struct{ ID, Name, Why string }

type tableOf[T any] struct{}

func (tableOf[T]) NewObject() any { return new(T) }

func find(name string) Table {
	return map[string]Table{"teams": tableOf[team]{}, "hosts": tableOf[host]{}}[name]
}

func TestASnapshotIsReadAsItWasWritten(t *testing.T) {
	written := []any{&team{"a"}, &team{"b"}, &host{"h1", "n1"}}
	var file bytes.Buffer
	err := Write(&file, 3, func(yield func(string, any) bool) {
		_ = yield("teams", written[0]) && yield("teams", written[1]) && yield("hosts", written[2])
	})
	if err != nil {
		t.Fatal(err)
	}
	var read []any
	if err := Read(bufio.NewReader(&file), 3, find, func(_ Table, object any) { read = append(read, object) }); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(read, written, func(a, b any) bool {
		was, _ := json.Marshal(a)
		is, _ := json.Marshal(b)
		return bytes.Equal(was, is)
	}) {
		t.Errorf("read %v", read)
	}
}

func TestWhatIsNoSnapshotOfThisVersionIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, snapshot string
		want           error
	}{
		{"a table not known", crafted(t, func(w *recordWriter) { craft(t, w, "jobs", &team{"a"}) }), codec.ErrNewer},
		{"a field not known", crafted(t, func(w *recordWriter) { craft(t, w, "hosts", &laterHost{ID: "a", Why: "old"}) }), codec.ErrNewer},
		{"a field cut short", crafted(t, func(w *recordWriter) { fields(t, w, "\x00\x14teams", "\x01\x01\x00") }), ErrDamaged},
		{"a name that is none", crafted(t, func(w *recordWriter) { fields(t, w, "\x09", "") }), ErrDamaged},
		{"a record too long", crafted(t, func(w *recordWriter) { length(t, w, maxField+1) }), ErrDamaged},
		{"a record longer than the rest", crafted(t, func(w *recordWriter) { length(t, w, 1000) }), ErrDamaged},
		{"a length without an end", crafted(t, func(w *recordWriter) { raw(t, w, strings.Repeat("\xff", 11)) }), ErrDamaged},
		{"the end is missing", crafted(t, func(w *recordWriter) { craft(t, w, "hosts", &host{ID: "a"}) }), ErrDamaged},
		{"nothing after the records", crafted(t, func(w *recordWriter) { fields(t, w, "") }), ErrDamaged},
		{"another sum", crafted(t, func(w *recordWriter) { finish(t, w, trailer{SHA256: strings.Repeat("0", 64)}) }), ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Read(bufio.NewReader(strings.NewReader(c.snapshot)), 1, find, func(Table, any) {}); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// crafted is a snapshot that has what write puts into it behind its header.
func crafted(t *testing.T, write func(w *recordWriter)) string {
	t.Helper()
	var file bytes.Buffer
	if err := json.NewEncoder(&file).Encode(header{format, 1}); err != nil {
		t.Fatal(err)
	}
	write(&recordWriter{out: &file})
	return file.String()
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

func finish(t *testing.T, w *recordWriter, e trailer) {
	t.Helper()
	if err := w.end(e); err != nil {
		t.Fatal(err)
	}
}

func TestARecordThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	w := &recordWriter{out: io.Discard}
	if err := w.write("teams", &team{Name: strings.Repeat("x", maxField)}); err == nil {
		t.Error("it was written")
	}
}
