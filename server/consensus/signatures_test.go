package consensus

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// fakeFSM answers each entry with its data: "refused" is an error.
type fakeFSM struct{ raft.FSM }

func (fakeFSM) Apply(entry *raft.Log) any {
	if string(entry.Data) == "refused" {
		return raftfsm.ApplyResult{Err: spec.ErrInUse}
	}
	return raftfsm.ApplyResult{}
}

func (fakeFSM) Restore(io.ReadCloser) error { return nil }

func TestSignaturesOfTheLogAreRemembered(t *testing.T) {
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := &signatureLog{FSM: fakeFSM{}, now: func() time.Time { return epoch }}
	apply := func(data string, at time.Duration, names ...byte) {
		var signatures []spec.Signature
		for _, name := range names {
			signatures = append(signatures, spec.Signature{name})
		}
		l.Apply(&raft.Log{Data: []byte(data), AppendedAt: epoch.Add(at), Extensions: extensionsOf(signatures)})
	}
	want := func(what string, name byte, signed time.Duration, used bool) {
		t.Helper()
		if l.used(spec.Signature{name}, epoch.Add(signed)) != used {
			t.Errorf("%s: used is %t", what, !used)
		}
	}
	apply("", 0, 1, 2)
	apply("refused", 0, 3)
	want("the first of an entry", 1, 0, true)
	want("the second", 2, 0, true)
	want("of a change that was refused", 3, 0, false)
	want("of no entry, signed long ago", 4, -time.Hour, false)
	apply("", signatureTTL, 5)
	want("still valid", 1, 0, true)
	apply("", 2*signatureTTL, 6)
	want("too old to be sent again", 1, 0, false)
	if err := l.Restore(io.NopCloser(&bytes.Buffer{})); err != nil {
		t.Fatal(err)
	}
	apply("", time.Minute, 7)
	want("signed before what a restored server knows", 8, time.Minute-1, true)
	want("signed since", 8, time.Minute, false)
	for i := range 3 * maxSignatures {
		l.Apply(&raft.Log{AppendedAt: epoch.Add(time.Minute), Extensions: extensionsOf([]spec.Signature{{byte(i), byte(i >> 8), byte(i >> 16), 1}})})
	}
	if held := len(l.current) + len(l.previous); held > 2*maxSignatures {
		t.Errorf("%d are held", held)
	}
}
