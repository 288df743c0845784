package raftfsm

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// madeUpKinds are the codes of commands that tests make up.
const madeUpKinds = 240

// TestKindsAreAppendOnly holds the table of kinds against the one that was written down: number, command, form and level of each.
// `go test ./raftfsm -run Kinds -rewrite` adds new ones.
func TestKindsAreAppendOnly(t *testing.T) {
	const path = "testdata/kinds"
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var now strings.Builder
	for _, k := range kinds.All() {
		form := "JSON"
		if body, err := k.Encode(nil, reflect.Zero(k.Type).Interface().(Command)); err != nil || body[0] != '{' {
			form = "compact"
		}
		if k.Code < madeUpKinds {
			fmt.Fprintf(&now, "%d %v %s, level %d\n", k.Code, writtenType(k), form, k.Level)
		}
	}
	for line := range strings.Lines(string(written)) {
		if !slices.Contains(slices.Collect(strings.Lines(now.String())), line) {
			t.Fatalf("there was %sit may not change; the table is\n%s", line, &now)
		}
	}
	switch {
	case now.String() == string(written):
	case *rewrite:
		if err := os.WriteFile(path, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("there are new kinds: go test ./raftfsm -run Kinds -rewrite writes them down; the table is\n%s", &now)
	}
}

func TestACommandComesBackAsItWas(t *testing.T) {
	sent := StopTask{ID: "t1", Code: spec.StopUserInitiated, Reason: "enough", At: at(3)}
	for _, c := range []Command{sent, &sent} {
		entry, err := Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(entry)
		if err != nil || got != Command(sent) {
			t.Errorf("%T came back as %#v, %v", c, got, err)
		}
	}
}

func TestTheCompactKindsComeBackAsTheyWere(t *testing.T) {
	launch := LaunchTasks{[]Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task("t1", "h1", "gpu")}, At: at(1)}}}
	report := ReportTasks{HostID: "h1", Reports: []spec.TaskReport{{TaskID: "t1", Status: spec.Running, Times: spec.TaskTimes{Started: at(2)}}}}
	place := PlaceTasks{[][]spec.Placement{{{TaskID: "t1", HostID: "h1", GPUs: [][]string{{"gpu"}}}}}}
	retry := RetryTasks{[]*spec.Task{waiting("t2", 1)}}
	for _, c := range []struct {
		given, want Command
		kind        byte
	}{
		{launch, launch, 24}, {&launch, launch, 24}, {report, report, 27}, {&report, report, 27},
		{place, place, 25}, {&place, place, 25}, {retry, retry, 26}, {&retry, retry, 26},
	} {
		entry, err := Encode(c.given)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(entry)
		if err != nil || !reflect.DeepEqual(got, c.want) || entry[0] != c.kind {
			t.Errorf("kind %d: %T came back as %+v, %v", entry[0], c.given, got, err)
		}
	}
}

func TestEntriesOfANewerVersionAreRefused(t *testing.T) {
	entries := map[string]string{
		"a compact field":     "\x1b\x01\x04",
		"a compact cut":       "\x1b\x01\x01\x00",
		"more than a command": "\x1b\x01\x00\x00",
		"nothing at all":      "",
		"a kind not known":    "\xff{}",
		"not JSON":            "\x1c{",
		"a field not known":   "\x1c{\"ID\":\"t1\",\"Grace\":5}",
		"a type not known":    "\x1c{\"ID\":5}",
		"more than one value": "\x1c{} {}",
	}
	for name, entry := range entries {
		if _, err := Decode([]byte(entry)); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
