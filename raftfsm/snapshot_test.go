package raftfsm

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/accountsetting"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/team"
)

func newReader(snapshot []byte) io.Reader { return bytes.NewReader(snapshot) }

// everything has an object in each table, and a server.
func everything(t tester) *history {
	h := newHistory(t)
	h.do(t, Wrap(credential.Create{Key: accesskey.Key{ID: "AKIA1", Secret: "s", CreatedAt: epoch}}))
	h.launch(t, Launch{Token: "once", TokenHash: "a", Tasks: []*spec.Task{task("t1", "h1", "h1-gpu0")}, At: at(1)})
	h.running(t, task("t2", "h1", "h1-gpu1"))
	h.do(t, Wrap(ca.Put{Authority: spec.CA{Certificate: []byte("c"), SealedKey: []byte("k"), Seal: "s"}}))
	h.do(t, PutSettings{spec.Settings{Servers: 5}})
	h.do(t, Wrap(jointoken.Create{Token: joinToken("a", 3)}))
	h.do(t, admit("h2", "key", "a", 1))
	h.do(t, PutHost{hostWith("h3", 0)})
	h.do(t, MarkHostLost{ID: "h3", At: at(2)})
	h.do(t, PutHost{hostWith("h4", 0)})
	h.do(t, RemoveHost{ID: "h4", At: at(3)})
	h.do(t, Wrap(accountsetting.Put{Setting: accountsetting.Setting{Name: "containerInsights", Value: "enabled"}}))
	h.do(t, Wrap(capacityprovider.Create{Provider: capacityprovider.Provider{Name: "night", CreatedAt: epoch}}))
	h.do(t, Wrap(team.Put{Team: team.Team{Name: "vision", Weight: 2}}))
	ended(t, h, "t0", "vision", at(0), at(1))
	h.do(t, Reap{Before: at(2)})
	h.launch(t, Launch{Tasks: []*spec.Task{waiting("t3", 1)}})
	h.do(t, PutHost{ofLevel("h1", FeatureLevel)})
	h.do(t, SetServerRole{"h1", true})
	return h
}

// fillEmptyTables puts an object into each table that has none: one of which nothing is known but its type, as JSON would bring it.
func (h *history) fillEmptyTables(t *testing.T) {
	tx := h.begin()
	for _, table := range tables {
		if slices.Collect(table.Objects(&tx.View)) == nil {
			text := rapid.Custom(func(r *rapid.T) []byte {
				object := table.NewObject()
				draw(r, reflect.ValueOf(object).Elem(), 0)
				text, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				return text
			}).Example(1)
			object := table.NewObject()
			if err := json.Unmarshal(text, object); err != nil {
				t.Fatal(err)
			}
			inUTC(reflect.ValueOf(object).Elem())
			tx.put(table, object)
		}
	}
	tx.commit()
}

// restored is the state of a snapshot.
func restored(t tester, snapshot []byte) *State {
	t.Helper()
	state := NewState()
	if err := state.Restore(newReader(snapshot)); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestEveryTableIsInASnapshotAndComesBack(t *testing.T) {
	h := everything(t)
	h.fillEmptyTables(t)
	for _, table := range tables {
		if len(slices.Collect(table.Objects(h.View()))) == 0 {
			t.Errorf("nothing in %s", table.Name())
		}
	}
	written := h.snapshot(t)
	want := fmt.Sprintf(`{"pinionSnapshot":1,"featureLevel":%d}`, FeatureLevel)
	if header, _, _ := bytes.Cut(written, []byte("\n")); string(header) != want {
		t.Errorf("the header is %s", header)
	}
	back := restored(t, written)
	for _, table := range tables {
		was, is := slices.Collect(table.Objects(h.View())), slices.Collect(table.Objects(back.View()))
		if !reflect.DeepEqual(was, is) {
			t.Errorf("%s: wrote %v, restored %v", table.Name(), was, is)
		}
	}
	if again := snapshotOf(t, back); !bytes.Equal(written, again) {
		t.Errorf("wrote   %s\nrestored %s", written, again)
	}
	if v := back.View(); v.Index() != h.View().Index() || len(v.Free("h1").GPUs) != 2 || v.Definition("gpu") == nil {
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

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	good := newHistory(t).snapshot(t)
	state := NewState()
	for i := range good {
		damaged := bytes.Clone(good)
		damaged[i] ^= 1 << (i % 8)
		err := state.Restore(newReader(damaged))
		if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Fatalf("byte %d (%q): %v", i, good[max(0, i-20):min(len(good), i+20)], err)
		}
	}
}

func TestEveryCutIsNoticed(t *testing.T) {
	good := newHistory(t).snapshot(t)
	state := NewState()
	for i := range good {
		if err := state.Restore(newReader(good[:i])); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d of %d bytes: %v", i, len(good), err)
		}
	}
}

func TestAnErrorOfTheReaderIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	half := newHistory(t).snapshot(t)[:100]
	if err := NewState().Restore(io.MultiReader(newReader(half), &failing{broken})); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// TestServersAgreeHoweverTheyGotTheState is a pool whose hosts are in another zone: one server has been there from the start, one replays
// the log, one was given a snapshot and one a snapshot and the entry after it, and all of them have one digest from then on.
func TestServersAgreeHoweverTheyGotTheState(t *testing.T) {
	here := func(minutes int) time.Time { return at(minutes).In(time.FixedZone("", 2*60*60)) }
	running := ReportTasks{HostID: "h1", Reports: []spec.TaskReport{
		{TaskID: "t1", Status: spec.Running, Times: spec.TaskTimes{Started: here(1)}, Containers: []spec.ContainerReport{{Name: "main", Status: spec.Running}}},
	}}
	old := everything(t)
	old.do(t, running)
	before := old.snapshot(t)
	last := PutHost{hostWith("h5", 1)}
	old.do(t, last)
	servers := map[string]*history{
		"that was there from the start":         old,
		"that replayed the log":                 replayOf(t, old.log),
		"that was given a snapshot":             {State: restored(t, old.snapshot(t)), log: old.log},
		"that was given a snapshot from before": {State: restored(t, before), log: old.log[:len(old.log)-1]},
	}
	servers["that was given a snapshot from before"].do(t, last)
	steps := []struct {
		name    string
		command Command
	}{
		{"nothing yet", Reap{}},
		{"what is known is reported again", running},
		{"a word without anything in it", ReportTasks{HostID: "h1", Reports: []spec.TaskReport{{TaskID: "t1", Containers: []spec.ContainerReport{}}}}},
		{"a launch with empty lists", LaunchTasks{[]Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{emptyHanded("t9", "h1")}}}}},
		{"the end", ReportTasks{HostID: "h1", Reports: []spec.TaskReport{{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: here(5)}}}}},
	}
	for _, step := range steps {
		digests := map[[sha256.Size]byte]string{}
		for who, server := range servers {
			if _, err := server.try(t, step.command); err != nil {
				t.Fatal(err)
			}
			digests[sha256.Sum256(server.snapshot(t))] += "\n\tthe server " + who
		}
		if len(digests) > 1 {
			t.Errorf("%s: they differ: %v", step.name, digests)
		}
	}
}

// emptyHanded is a task whose lists are empty where those of others are nil.
func emptyHanded(id, host string) *spec.Task {
	task := task(id, host)
	task.Tags, task.Ports, task.UDPPorts = []spec.Tag{}, []int{}, []int{}
	task.Overrides = spec.Box(spec.TaskOverride{Containers: []spec.ContainerOverride{}})
	task.Containers[0].GPUs = []string{}
	return task
}

func replayOf(t tester, log [][]byte) *history {
	t.Helper()
	other := &history{State: NewState(), log: log}
	for i, entry := range log {
		command, err := Decode(entry)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = other.Apply(uint64(i+1), command) // refused here as it was there
	}
	return other
}
