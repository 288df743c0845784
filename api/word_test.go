package api

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm"
)

// Which hosts are silent is not in the state: that is what the leader says when it says that the states are the same.
func TestHostsAreConnectedAsTheLeaderSays(t *testing.T) {
	const heard, silent, lost = hostID, "cccc0000000000000000000000000003", "dddd0000000000000000000000000004"
	p := newTwins(t)
	var question string
	for _, b := range []*bench{p.leader, p.other} {
		b.do(t, raftfsm.PutHost{Host: newHost(silent, "gpu-3", 1)})
		b.do(t, raftfsm.PutHost{Host: newHost(lost, "gpu-4", 1)})
		b.do(t, raftfsm.MarkHostLost{ID: lost, At: epoch})
		question = b.describing(t, 1)
		b.runs(t, firstTask)
	}
	check := func(t *testing.T, connected, disconnected, connectivity string) {
		t.Helper()
		listed := p.other.must(t, "ListContainerInstances", `{"filter":"agentConnected == true"}`).Body.String()
		described := p.other.must(t, "DescribeContainerInstances", `{"containerInstances":["`+disconnected+`"]}`).Body.String()
		if !strings.Contains(listed, connected) || strings.Contains(listed, disconnected) || strings.Contains(listed, lost) || !strings.Contains(described, `"agentConnected":false`) {
			t.Errorf("%s is silent; connected are %s, and it says %s", disconnected, listed, described)
		}
		if got := p.other.must(t, "DescribeTasks", question).Body.String(); !strings.Contains(got, `"connectivity":"`+connectivity+`"`) {
			t.Errorf("the task on %s: %s", heard, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p.leader.silent[silent], p.leader.silent[lost] = true, true
		check(t, heard, silent, "CONNECTED")
		p.leader.silent = map[string]bool{heard: true}
		<-time.After(wordLasts)
		check(t, silent, heard, "DISCONNECTED")
	})
	if slices.Contains(p.states, "") {
		t.Errorf("the leader was told %q", p.states)
	}
}
