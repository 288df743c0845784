package raftfsm

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// The table as it has been released: number, command, and form where it is not JSON. A line is added for a new command; no line ever changes.
const releasedKinds = `
1 raftfsm.CreatePool
2 raftfsm.PutSettings
3 raftfsm.PutCA
4 raftfsm.CreateJoinToken
5 raftfsm.RevokeJoinToken
6 raftfsm.AdmitHost
7 raftfsm.PutHost, compact
8 raftfsm.SetHostStatus
9 raftfsm.SetServerRole
10 raftfsm.MarkHostLost
11 raftfsm.RemoveHost
12 raftfsm.PutAttributes
13 raftfsm.DeleteAttributes
14 raftfsm.CreateCluster
15 raftfsm.UpdateCluster
16 raftfsm.DeleteCluster
17 raftfsm.PutClusterCapacityProviders
18 raftfsm.CreateCapacityProvider
19 raftfsm.UpdateCapacityProvider
20 raftfsm.DeleteCapacityProvider
21 raftfsm.RegisterDefinition
22 raftfsm.DeregisterDefinition
23 raftfsm.DeleteDefinitions
24 raftfsm.LaunchTasks, compact
25 raftfsm.PlaceTasks, compact
26 raftfsm.RetryTasks, compact
27 raftfsm.ReportTasks, compact
28 raftfsm.StopTask
29 raftfsm.ResolveDependencies
30 raftfsm.SetTags
31 raftfsm.PutTeam
32 raftfsm.DeleteTeam
33 raftfsm.PutAccountSetting
34 raftfsm.DeleteAccountSetting
35 raftfsm.CreateAccessKey
36 raftfsm.DeleteAccessKey
37 raftfsm.Reap
`

func TestKindsAreAppendOnly(t *testing.T) {
	table := "\n"
	for _, k := range kinds {
		form := ""
		if body, err := k.encode(nil, reflect.Zero(k.commandType).Interface().(Command)); err != nil || body[0] != '{' {
			form = ", compact"
		}
		table += fmt.Sprintf("%d %v%s\n", k.code, k.commandType, form)
	}
	if table != releasedKinds {
		t.Errorf("the table of kinds is %swant %s", table, releasedKinds)
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
