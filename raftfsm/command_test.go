package raftfsm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The table as it has been released. A line is added for a new command; no line ever changes.
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
10 raftfsm.CreateKey
11 raftfsm.PutAuthority
12 raftfsm.PutSettings
13 raftfsm.CreateToken
14 raftfsm.RevokeToken
15 raftfsm.AdmitHost
16 raftfsm.SetHostStatus
17 raftfsm.SetServer
18 raftfsm.LoseHost
19 raftfsm.RemoveHost
21 raftfsm.SetTags
22 raftfsm.PutAttributes
23 raftfsm.DeleteAttributes
24 raftfsm.PutAccountSetting
25 raftfsm.DeleteAccountSetting
26 raftfsm.UpdateCluster
27 raftfsm.DeleteCluster
28 raftfsm.DeleteDefinitions
29 raftfsm.RemoveKey
30 raftfsm.PlaceTasks
31 raftfsm.RetryTasks
32 raftfsm.CreateCapacityProvider
33 raftfsm.UpdateCapacityProvider
34 raftfsm.DeleteCapacityProvider
35 raftfsm.PutClusterCapacityProviders
36 raftfsm.PutTeam
37 raftfsm.RemoveTeam
38 raftfsm.ReleaseTasks
`

func TestKindsAreAppendOnly(t *testing.T) {
	table := "\n"
	for _, k := range kinds {
		table += fmt.Sprintf("%d %v\n", k.code, k.of)
	}
	if table != releasedKinds {
		t.Errorf("the table of kinds is %swant %s", table, releasedKinds)
	}
}

func TestACommandComesBackAsItWas(t *testing.T) {
	sent := StopTask{ID: "t1", Code: StopUserInitiated, Reason: "enough", At: at(3)}
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

func TestEntriesOfANewerVersionAreRefused(t *testing.T) {
	entries := map[string]string{
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
