package api

import (
	"path"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/leader"
	"pinion/raftfsm"
)

// connectivity is what a host answers about connections.
type connectivity struct {
	connected []string // ids of the hosts whose agents are connected
	task      string   // connectivity of the first task
}

func (b *fixture) connectivity(t testing.TB, tasks string) (c connectivity) {
	t.Helper()
	var listed struct{ ContainerInstanceARNs []string }
	b.must(t, "ListContainerInstances", `{"filter":"agentConnected == true"}`).decode(t, &listed)
	for _, arn := range listed.ContainerInstanceARNs {
		c.connected = append(c.connected, path.Base(arn))
	}
	var described struct {
		Tasks []struct{ Connectivity string }
	}
	b.must(t, "DescribeTasks", tasks).decode(t, &described)
	c.task = described.Tasks[0].Connectivity
	return c
}

// The state does not tell which hosts the leader has heard of lately: the leader's confirmation of a read does.
func TestAFollowerShowsTheConnectionsOfTheLeader(t *testing.T) {
	const other, lost = "cccc0000000000000000000000000003", "dddd0000000000000000000000000004"
	p := newLeaderAndFollower(t)
	var tasks string // of hostID
	for _, b := range []*fixture{p.leader, p.follower} {
		b.mustApply(t, raftfsm.PutHost{Host: newHost(other, "gpu-3", 1)})
		b.mustApply(t, raftfsm.PutHost{Host: newHost(lost, "gpu-4", 1)})
		b.mustApply(t, raftfsm.MarkHostLost{ID: lost, At: epoch})
		tasks = b.describing(t, 1)
		b.reportRunning(t, firstTask)
	}
	want := func(t *testing.T, connected, task string) {
		t.Helper()
		if got := p.follower.connectivity(t, tasks); !slices.Equal(got.connected, []string{connected}) || got.task != task {
			t.Errorf("%+v", got)
		}
		var described struct {
			ContainerInstances []struct{ AgentConnected bool }
		}
		p.follower.must(t, "DescribeContainerInstances", `{"containerInstances":["`+hostID+`","`+other+`","`+lost+`"]}`).decode(t, &described)
		for i, id := range []string{hostID, other, lost} {
			if described.ContainerInstances[i].AgentConnected != (id == connected) {
				t.Errorf("%s: %+v", id, described.ContainerInstances[i])
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p.leader.disconnected = map[string]bool{other: true, lost: true}
		want(t, hostID, "CONNECTED")
		p.leader.disconnected = map[string]bool{hostID: true}
		<-time.After(leader.ReadIndexTTL)
		want(t, other, "DISCONNECTED")
	})
	if slices.Contains(p.sentVersions, "") {
		t.Errorf("the leader was sent the versions %q", p.sentVersions)
	}
}
