package raftfsm

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
)

func TestRaftsAdapter(t *testing.T) {
	h := everything(t)
	state := NewState()
	fsm := NewFSM(state)
	for i, entry := range h.log {
		if outcome := fsm.Apply(&raft.Log{Index: uint64(i + 1), Data: entry}).(ApplyResult); outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
	}
	if !bytes.Equal(h.snapshot(t), snapshotOf(t, state)) {
		t.Error("through the adapter another state comes out")
	}
}

func TestARefusalIsAnOutcome(t *testing.T) {
	entry, err := Encode(StopTask{ID: "none"})
	if err != nil {
		t.Fatal(err)
	}
	outcome := NewFSM(NewState()).Apply(&raft.Log{Index: 1, Data: entry}).(ApplyResult)
	if !errors.Is(outcome.Err, spec.ErrNotFound) || outcome.Value != nil {
		t.Errorf("%+v", outcome)
	}
}

func TestAnEntryOfANewerVersionStopsTheProcess(t *testing.T) {
	defer func() {
		if said, ok := recover().(string); !ok || !strings.Contains(said, "log entry 7") || !strings.Contains(said, "newer version") {
			t.Errorf("it said %q", said)
		}
	}()
	NewFSM(NewState()).Apply(&raft.Log{Index: 7, Data: []byte{250, '{', '}'}})
}

func TestASnapshotIsOfTheMomentItWasTaken(t *testing.T) {
	h := newHistory(t)
	before := h.snapshot(t)
	taken, err := NewFSM(h.State).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	h.running(t, task("t1", "h1"))
	var sink sink
	if err := taken.Persist(&sink); err != nil || !sink.closed || sink.cancelled {
		t.Errorf("%v, closed %v, cancelled %v", err, sink.closed, sink.cancelled)
	}
	taken.Release()
	if !bytes.Equal(sink.Bytes(), before) {
		t.Error("the snapshot shows what came later")
	}
	if err := NewFSM(h.State).Restore(io.NopCloser(&sink.Buffer)); err != nil || !bytes.Equal(h.snapshot(t), before) {
		t.Errorf("restored: %v", err)
	}
}

func TestASnapshotThatCannotBeWrittenIsCancelled(t *testing.T) {
	taken, _ := NewFSM(everything(t).State).Snapshot()
	full := &sink{limit: 10}
	if err := taken.Persist(full); !errors.Is(err, errFull) || !full.cancelled || full.closed {
		t.Errorf("%v, cancelled %v, closed %v", err, full.cancelled, full.closed)
	}
}

var errFull = errors.New("disk full")

// sink is a raft.SnapshotSink in memory; it takes limit bytes when there is a limit.
type sink struct {
	bytes.Buffer
	limit             int
	closed, cancelled bool
}

func (s *sink) Write(p []byte) (int, error) {
	if s.limit > 0 && s.Len()+len(p) > s.limit {
		return 0, errFull
	}
	return s.Buffer.Write(p)
}

func (s *sink) ID() string    { return "test" }
func (s *sink) Close() error  { s.closed = true; return nil }
func (s *sink) Cancel() error { s.cancelled = true; return nil }
