package backup

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func newDaily(t *testing.T, now *time.Time) *Daily {
	return &Daily{Dir: filepath.Join(t.TempDir(), "snapshots"), Now: func() time.Time { return *now }, Log: slog.New(slog.DiscardHandler)}
}

func poolView(t *testing.T) *raftfsm.View {
	t.Helper()
	state := raftfsm.NewState()
	if _, err := state.Apply(1, raftfsm.CreatePool{Pool: spec.Pool{ID: "p", CreatedAt: time.Unix(1, 0)}}); err != nil {
		t.Fatal(err)
	}
	return state.View()
}

func snapshots(t *testing.T, d *Daily) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(d.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestASnapshotOfEachOfTheLastSevenDaysIsKept(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d, view := newDaily(t, &now), poolView(t)
	for range 10 * 24 {
		if err := d.saveIfDue(view); err != nil {
			t.Fatal(err)
		}
		now = now.Add(checkInterval)
	}
	kept := snapshots(t, d)
	if len(kept) != maxKept || filepath.Base(kept[0]) != "20260304T120000Z.snapshot" {
		t.Fatalf("%v", kept)
	}
	file, err := os.Open(kept[6])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if info, err := Inspect(file, nil); err != nil || info.Pool != "p" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestAServerWithoutAPoolSavesNothing(t *testing.T) {
	now := time.Unix(1e9, 0)
	d := newDaily(t, &now)
	if err := d.saveIfDue(raftfsm.NewState().View()); err != nil || len(snapshots(t, d)) != 0 {
		t.Errorf("%v, %v", snapshots(t, d), err)
	}
}

func TestADamagedSnapshotIsRefused(t *testing.T) {
	var text bytes.Buffer
	if err := poolView(t).WriteSnapshot(&text); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(text.Bytes())
	damaged[len(damaged)/2] ^= 1
	if _, err := Inspect(bytes.NewReader(damaged), nil); !errors.Is(err, raftfsm.ErrDamaged) {
		t.Error(err)
	}
	if _, err := Inspect(bytes.NewReader(text.Bytes()[:text.Len()-1]), nil); !errors.Is(err, raftfsm.ErrDamaged) {
		t.Errorf("cut short: %v", err)
	}
}
