package raftfsm

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"pinion/raftfsm/spec"
	"strconv"
	"strings"
	"testing"
)

func TestThePoolCanDoWhatEveryServerCan(t *testing.T) {
	h := newHistory(t)
	steps := []struct {
		name    string
		command Command
		want    int
	}{
		{"no server on record: a pool of one", CreatePool{}, FeatureLevel},
		{"a server of the first version", SetServerRole{"h1", true}, 1},
		{"it was upgraded", PutHost{ofLevel("h1", FeatureLevel)}, FeatureLevel},
		{"an old agent does not count", PutHost{ofLevel("h2", 1)}, FeatureLevel},
		{"as a server it does", SetServerRole{"h2", true}, 1},
		{"one ahead of this version", PutHost{ofLevel("h2", FeatureLevel+1)}, FeatureLevel},
	}
	for _, step := range steps {
		h.do(t, step.command)
		if got := h.View().MinFeatureLevel(); got != step.want {
			t.Errorf("%s: level %d, want %d", step.name, got, step.want)
		}
	}
}

func TestWhatAnOlderKindHoldsMayBeTooNew(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{ofLevel("h1", 2)})
	h.do(t, SetServerRole{"h1", true})
	v := h.View()
	udp := task("t1", "h1")
	udp.UDPPorts = []int{53}
	noted := hostWith("h1", 4)
	noted.HealthAt = at(1)
	for old, tooNew := range map[Command]Command{
		&LaunchTasks{[]Launch{{Tasks: []*spec.Task{task("t1", "h1")}}}}: LaunchTasks{[]Launch{{Tasks: []*spec.Task{udp}}}},
		&PutHost{hostWith("h1", 4)}:                                     PutHost{noted},
		&CreateCluster{spec.Cluster{Name: "lab"}}:                       CreateCluster{spec.Cluster{Name: "lab", Namespace: "mesh"}},
	} {
		if err := v.MayWrite(old); err != nil {
			t.Errorf("%T as it always was: %v", old, err)
		}
		if err := v.MayWrite(tooNew); !errors.Is(err, ErrTooNew) {
			t.Errorf("%T with something new: %v", tooNew, err)
		}
	}
}

func ofLevel(id string, level int) spec.Host {
	host := hostWith(id, 4)
	host.FeatureLevel = level
	return host
}

func TestACommandThatAServerDoesNotKnowMayNotBeWritten(t *testing.T) {
	h := newHistory(t)
	if err := h.View().MayWrite(MarkHostLost{}); err != nil {
		t.Errorf("a pool of one: %v", err)
	}
	h.do(t, SetServerRole{"h1", true})
	v := h.View()
	for _, c := range []Command{MarkHostLost{}, &RemoveHost{}} {
		if err := v.MayWrite(c); !errors.Is(err, ErrTooNew) || !strings.Contains(err.Error(), "upgrade it first") {
			t.Errorf("%T: %v", c, err)
		}
	}
	if err := v.MayWrite(LaunchTasks{}); err != nil {
		t.Errorf("what it has always known: %v", err)
	}
}

func TestASnapshotClaimsTheLevelOfTheOldestServer(t *testing.T) {
	h := newHistory(t)
	h.do(t, SetServerRole{"h1", true})
	if header, _, _ := strings.Cut(string(h.snapshot(t)), "\n"); header != `{"pinionSnapshot":1,"featureLevel":1}` {
		t.Errorf("header %s", header)
	}
}

// TestWhatLevelOneWroteIsStillRead holds the log and the snapshot of one history, both written by the first version.
func TestWhatLevelOneWroteIsStillRead(t *testing.T) {
	replayed := replay(t, "testdata/level1.log")
	snapshot, err := os.ReadFile("testdata/level1.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	restored := NewState()
	if err := restored.Restore(newReader(snapshot)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(snapshotOf(t, replayed), snapshotOf(t, restored)) {
		t.Error("the log and the snapshot give different states")
	}
	records := func(snapshot []byte) string { // without header and end, which name the level and the sum
		lines := strings.SplitAfter(string(snapshot), "\n")
		return strings.Join(lines[1:len(lines)-2], "")
	}
	if records(snapshot) != records(snapshotAs(t, restored.View(), 1)) {
		t.Error("its records are written in another way now")
	}
}

func replay(t *testing.T, path string) *State {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	state := NewState()
	lines := bufio.NewScanner(file) // "KIND JSON"
	for index := uint64(1); lines.Scan(); index++ {
		number, body, _ := strings.Cut(lines.Text(), " ")
		kind, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		command, err := Decode(append([]byte{byte(kind)}, body...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := state.Apply(index, command); err != nil {
			t.Fatal(err)
		}
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return state
}
