package backup

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pinion/raftfsm"
)

// withPast is a snapshot with so many blocks of a history; each is its own number, and has that many tasks.
func withPast(t *testing.T, blocks int) []byte {
	t.Helper()
	past := History{About: []byte(`{"count":3}`), Blocks: func(yield func([]byte, error) bool) {
		for n := range blocks {
			if !yield(bytes.Repeat([]byte{byte(n)}, n), nil) {
				return
			}
		}
	}}
	var text bytes.Buffer
	if err := Write(&text, poolView(t), past); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func countBytes(block []byte) (int, error) { return len(block), nil }

func TestASnapshotWithAHistoryTellsHowManyTasksItHas(t *testing.T) {
	info, err := Inspect(bytes.NewReader(withPast(t, 5)), countBytes)
	if err != nil || info.Pool != "p" || info.EndedTasks == nil || *info.EndedTasks != 0+1+2+3+4 {
		t.Errorf("%+v, %v", info, err)
	}
	state, past, err := Read(bytes.NewReader(withPast(t, 2)))
	if err != nil || state.View().Pool().ID != "p" || string(past.About) != `{"count":3}` {
		t.Errorf("%+v, %v", past, err)
	}
}

// A snapshot that was changed in any byte, or cut anywhere, is refused.
func TestADamagedSnapshotWithAHistoryIsRefused(t *testing.T) {
	whole := withPast(t, 3)
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		for how, text := range map[string][]byte{"changed": changed, "cut": whole[:i]} {
			if info, err := Inspect(bytes.NewReader(text), countBytes); err == nil {
				t.Errorf("%s at %d of %d: %+v", how, i, len(whole), info)
			}
		}
	}
	if _, err := Inspect(bytes.NewReader(append(whole, 0)), countBytes); !errors.Is(err, raftfsm.ErrDamaged) {
		t.Errorf("more than its end: %v", err)
	}
}

func TestASnapshotSaysWhyItHasNoHistory(t *testing.T) {
	var text bytes.Buffer
	if err := Write(&text, poolView(t), Without(errors.New("the disk is gone"))); err != nil {
		t.Fatal(err)
	}
	if info, err := Inspect(&text, countBytes); err != nil || info.EndedTasks != nil || info.NoHistory != "the disk is gone" {
		t.Errorf("%+v, %v", info, err)
	}
}

// A history that cannot be read on breaks the snapshot off, so that nobody takes it for a whole one.
func TestAHistoryThatBreaksOffIsNoSnapshot(t *testing.T) {
	var text bytes.Buffer
	broken := History{About: []byte("{}"), Blocks: func(yield func([]byte, error) bool) { yield(nil, fmt.Errorf("bad sector")) }}
	if err := Write(&text, poolView(t), broken); err == nil {
		t.Error("the snapshot is complete")
	}
	if _, err := Inspect(&text, countBytes); !errors.Is(err, raftfsm.ErrDamaged) {
		t.Error(err)
	}
}
