package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func newReader(snapshot []byte) io.Reader { return bytes.NewReader(snapshot) }

// everything has an object in each table.
func everything(t tester) *history {
	h := newHistory(t)
	h.do(t, CreateKey{AccessKey{ID: "AKIA1", Secret: "s", CreatedAt: epoch}})
	h.launch(t, Launch{Token: "once", TokenHash: "a", Tasks: []*Task{task("t1", "h1", "h1-gpu0")}, At: at(1)})
	h.running(t, task("t2", "h1", "h1-gpu1"))
	h.do(t, PutAuthority{Authority{Certificate: []byte("c"), Key: []byte("k")}})
	h.do(t, PutSettings{Settings{Servers: 5}})
	h.do(t, CreateToken{joinToken("a", 3)})
	h.do(t, admit("h2", "key", "a", 1))
	h.do(t, PutHost{hostWith("h3", 0)})
	h.do(t, LoseHost{ID: "h3", At: at(2)})
	h.do(t, PutHost{hostWith("h4", 0)})
	h.do(t, RemoveHost{ID: "h4", At: at(3)})
	h.do(t, PutAccountSetting{AccountSetting{Name: "containerInsights", Value: "enabled"}})
	h.do(t, CreateCapacityProvider{CapacityProvider{Name: "night", CreatedAt: epoch}})
	h.do(t, PutTeam{Team{Name: "vision", Weight: 2}})
	ended(t, h, "t0", "vision", at(0), at(1))
	h.do(t, Reap{Before: at(2), Usage: true})
	h.launch(t, Launch{Tasks: []*Task{waiting("t3", 1)}})
	return h
}

func TestEveryTableIsInASnapshotAndComesBack(t *testing.T) {
	h := everything(t)
	written := h.snapshot(t)
	for _, table := range tables {
		if !bytes.Contains(written, []byte(`{"table":"`+table.schema.Name+`"`)) {
			t.Errorf("no %s in the snapshot", table.schema.Name)
		}
	}
	restored := NewState()
	if err := restored.Restore(newReader(written)); err != nil {
		t.Fatal(err)
	}
	if again := snapshotOf(t, restored); !bytes.Equal(written, again) {
		t.Errorf("wrote   %s\nrestored %s", written, again)
	}
	if v := restored.View(); v.Index() != h.View().Index() || len(v.Free("h1").GPUs) != 2 || v.Definition("gpu") == nil {
		t.Error("the indexes are not restored")
	}
}

func TestASnapshotReplacesWhatWasThere(t *testing.T) {
	snapshot := newHistory(t).snapshot(t)
	full := everything(t)
	if err := full.Restore(newReader(snapshot)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(full.snapshot(t), snapshot) || len(full.View().TasksOn("h1")) != 0 {
		t.Error("something of the old state is left")
	}
}

func TestABadSnapshotIsRefusedAndLeavesTheStateAlone(t *testing.T) {
	good := string(everything(t).snapshot(t))
	lines := strings.SplitAfter(strings.TrimSuffix(good, "\n"), "\n")
	end := len(lines) - 1
	cases := []struct {
		name, snapshot string
		want           error
	}{
		{"empty", "", ErrDamaged},
		{"another file", "hello\n", ErrDamaged},
		{"another JSON file", "{}\n", ErrDamaged},
		{"a later format", strings.Replace(good, `"pinionSnapshot":1`, `"pinionSnapshot":2`, 1), ErrNewer},
		{"a later feature level", strings.Replace(good, fmt.Sprintf(`"featureLevel":%d`, FeatureLevel), fmt.Sprintf(`"featureLevel":%d`, FeatureLevel+1), 1), ErrNewer},
		{"a table not known", strings.Replace(good, `"table":"tasks"`, `"table":"jobs"`, 1), ErrNewer},
		{"a field not known", strings.Replace(good, `"hostId":`, `"nodeId":`, 1), ErrNewer},
		{"cut after a line", strings.Join(lines[:end], ""), ErrDamaged},
		{"cut within a line", good[:len(good)/2], ErrDamaged},
		{"cut within the end", strings.TrimSuffix(good, "\n"), ErrDamaged},
		{"a changed value", strings.Replace(good, `"cpu":100`, `"cpu":101`, 1), ErrDamaged},
		{"a line missing", strings.Join(append(lines[:5:5], lines[6:]...), ""), ErrDamaged},
		{"lines exchanged", strings.Join(append([]string{lines[0], lines[2], lines[1]}, lines[3:]...), ""), ErrDamaged},
		{"more after the end", good + good, ErrDamaged},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory(t)
			before := h.snapshot(t)
			_, watch := h.View().Assignments("h1")
			if err := h.Restore(strings.NewReader(c.snapshot)); !errors.Is(err, c.want) {
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
		})
	}
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	good := newHistory(t).snapshot(t)
	state := NewState()
	for i := range good {
		damaged := bytes.Clone(good)
		damaged[i] ^= 1 << (i % 8)
		if err := state.Restore(newReader(damaged)); err == nil {
			t.Fatalf("byte %d (%q) was taken for good", i, good[max(0, i-20):min(len(good), i+20)])
		}
	}
}

func TestAnErrorOfTheReaderIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	reader := io.MultiReader(newReader(newHistory(t).snapshot(t)[:100]), &failing{broken})
	if err := NewState().Restore(reader); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }
