package server

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
)

func TestAFollowerPassesOnWhatItsHostsSay(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	follower, leader := p.followers()[0].member.localServer(), p.leader().member.localServer()

	guest := spec.Host{ID: id.New(), Name: "guest", Cluster: "guests", CPU: 1 << 20, MemoryMiB: 1 << 20}
	stray := []spec.TaskReport{{TaskID: "stray", Status: spec.Running}}
	if err := follower.agents.Heartbeat(t.Context(), guest.ID, nil); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a heartbeat before it joined: %v", err)
	}
	unknown, err := follower.agents.Join(t.Context(), guest, stray)
	if err != nil || !slices.Equal(unknown, []string{"stray"}) {
		t.Fatal(unknown, err)
	}
	if follower.state.View().Host(guest.ID) == nil {
		t.Error("the follower has let a host in that it does not know itself")
	}

	definition := define(t, leader, 0)
	request := runOf(definition)
	request.Cluster, request.Count = "guests", 10
	var ids []string
	for range 5 {
		for _, task := range run(t.Context(), t, leader, request).Tasks {
			ids = append(ids, task.ID)
		}
	}
	before := leader.node.Raft().LastIndex()
	atOnce(len(ids), func(i int) {
		if unknown, err := follower.agents.Report(t.Context(), guest.ID, []spec.TaskReport{{TaskID: ids[i], Status: spec.Running}}); err != nil || len(unknown) > 0 {
			t.Error(unknown, err)
		}
	})
	if entries := leader.node.Raft().LastIndex() - before; entries > 25 {
		t.Errorf("%d entries for 50 reports that came together", entries)
	}
	for _, id := range ids {
		if leader.state.View().Task(id).LastStatus != spec.Running {
			t.Errorf("the report of %s is lost", id)
		}
	}

	eventually(t, "the leader hears that the host lives", func() bool {
		if err := follower.agents.Heartbeat(t.Context(), guest.ID, nil); err != nil {
			t.Fatal(err)
		}
		return leader.liveness.Silence(guest.ID) < 250*time.Millisecond
	})
	if _, err := leader.Propose(t.Context(), raftfsm.MarkHostLost{ID: guest.ID, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a host that was given up is told to join again", func() bool {
		return errors.Is(follower.agents.Heartbeat(t.Context(), guest.ID, nil), spec.ErrNotFound)
	})
}
