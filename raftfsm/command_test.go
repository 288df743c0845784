package raftfsm

import (
	"errors"
	"fmt"
	"pinion/raftfsm/spec"
	"reflect"
	"strings"
	"testing"
)

// The table as it has been released: number, command, and form where it is not JSON. A line is added for a new command; no line ever changes.
const releasedKinds = `
1 raftfsm.CreatePool
2 raftfsm.PutHost
3 raftfsm.CreateCluster
4 raftfsm.RegisterDefinition
5 raftfsm.DeregisterDefinition
6 raftfsm.LaunchTasks
7 raftfsm.StopTask
8 raftfsm.ReportTasks
9 raftfsm.Reap
10 raftfsm.CreateAccessKey
11 raftfsm.PutCA
12 raftfsm.PutSettings
13 raftfsm.CreateJoinToken
14 raftfsm.RevokeJoinToken
15 raftfsm.AdmitHost
16 raftfsm.SetHostStatus
17 raftfsm.SetServerRole
18 raftfsm.MarkHostLost
19 raftfsm.RemoveHost
21 raftfsm.SetTags
22 raftfsm.PutAttributes
23 raftfsm.DeleteAttributes
24 raftfsm.PutAccountSetting
25 raftfsm.DeleteAccountSetting
26 raftfsm.UpdateCluster
27 raftfsm.DeleteCluster
28 raftfsm.DeleteDefinitions
29 raftfsm.DeleteAccessKey
30 raftfsm.PlaceTasks
31 raftfsm.RetryTasks
32 raftfsm.CreateCapacityProvider
33 raftfsm.UpdateCapacityProvider
34 raftfsm.DeleteCapacityProvider
35 raftfsm.PutClusterCapacityProviders
36 raftfsm.PutTeam
37 raftfsm.DeleteTeam
38 raftfsm.ResolveDependencies
39 raftfsm.LaunchTasks, compact
40 raftfsm.ReportTasks, compact
41 raftfsm.PlaceTasks, compact
42 raftfsm.RetryTasks, compact
43 raftfsm.PutHost, compact
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
		{launch, launch, 39}, {&launch, launch, 39}, {report, report, 40}, {&report, report, 40},
		{place, place, 41}, {&place, place, 41}, {retry, retry, 42}, {&retry, retry, 42},
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

func TestAnEntryIsInAFormThatEveryServerReads(t *testing.T) {
	h := newHistory(t)
	kind := func(c Command) byte {
		entry, err := h.View().Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		return entry[0]
	}
	if launch, report := kind(LaunchTasks{}), kind(&ReportTasks{}); launch != 39 || report != 40 {
		t.Errorf("a pool of one: kinds %d and %d", launch, report)
	}
	h.do(t, SetServerRole{"h1", true})
	if launch, report := kind(LaunchTasks{}), kind(&ReportTasks{}); launch != 6 || report != 8 {
		t.Errorf("with a server of the first version: kinds %d and %d", launch, report)
	}
	if _, err := h.View().Encode(PlaceTasks{}); !errors.Is(err, ErrTooNew) {
		t.Errorf("what that server does not know: %v", err)
	}
	h.do(t, PutHost{ofLevel("h1", 3)})
	if place, host := kind(PlaceTasks{}), kind(PutHost{}); place != 30 || host != 2 {
		t.Errorf("with one of the last version without the compact form: kinds %d and %d", place, host)
	}
	h.do(t, PutHost{ofLevel("h1", FeatureLevel)})
	if launch, report := kind(&LaunchTasks{}), kind(ReportTasks{}); launch != 39 || report != 40 {
		t.Errorf("once it is upgraded: kinds %d and %d", launch, report)
	}
}

func TestEntriesOfANewerVersionAreRefused(t *testing.T) {
	entries := map[string]string{
		"a compact field":     "\x28\x01\x04",
		"a compact cut":       "\x28\x01\x01\x00",
		"more than a command": "\x28\x01\x00\x00",
		"nothing at all":      "",
		"a kind not known":    "\xff{}",
		"not JSON":            "\x07{",
		"a field not known":   "\x07{\"ID\":\"t1\",\"Grace\":5}",
		"a type not known":    "\x07{\"ID\":5}",
		"more than one value": "\x07{} {}",
	}
	for name, entry := range entries {
		if _, err := Decode([]byte(entry)); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
