package raftfsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
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
		{"a table not known", strings.Replace(good, "teams", "teamz", 1), ErrNewer},
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
