package api

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/leader"
	"pinion/raftfsm"
)

// Which hosts are silent is not in the state: that is what the leader says when it says that the states are the same.
func TestHostsAreConnectedAsTheLeaderSays(t *testing.T) {
	const heard, silent, lost = hostID, "cccc0000000000000000000000000003", "dddd0000000000000000000000000004"
	p := newLeaderAndFollower(t)
	var question string
	for _, b := range []*fixture{p.leader, p.follower} {
		b.mustApply(t, raftfsm.PutHost{Host: newHost(silent, "gpu-3", 1)})
		b.mustApply(t, raftfsm.PutHost{Host: newHost(lost, "gpu-4", 1)})
		b.mustApply(t, raftfsm.MarkHostLost{ID: lost, At: epoch})
		question = b.describing(t, 1)
		b.reportRunning(t, firstTask)
	}
	check := func(t *testing.T, connected, disconnected, connectivity string) {
		t.Helper()
		listed := p.follower.must(t, "ListContainerInstances", `{"filter":"agentConnected == true"}`).Body.String()
		described := p.follower.must(t, "DescribeContainerInstances", `{"containerInstances":["`+disconnected+`"]}`).Body.String()
		if !strings.Contains(listed, connected) || strings.Contains(listed, disconnected) || strings.Contains(listed, lost) || !strings.Contains(described, `"agentConnected":false`) {
			t.Errorf("%s is silent; connected are %s, and it says %s", disconnected, listed, described)
		}
		if got := p.follower.must(t, "DescribeTasks", question).Body.String(); !strings.Contains(got, `"connectivity":"`+connectivity+`"`) {
			t.Errorf("the task on %s: %s", heard, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p.leader.disconnected[silent], p.leader.disconnected[lost] = true, true
		check(t, heard, silent, "CONNECTED")
		p.leader.disconnected = map[string]bool{heard: true}
		<-time.After(leader.ReadIndexTTL)
		check(t, silent, heard, "DISCONNECTED")
	})
	if slices.Contains(p.sentVersions, "") {
		t.Errorf("the leader was told %q", p.sentVersions)
	}
}
