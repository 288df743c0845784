package server

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/membership"
)

func TestARemovedServerDoesNotComeBackByWhatAutopilotSawEarlier(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	gone := p.followers()[0]
	leader := p.leader().member
	if err := leader.Hosts.RemoveHost(t.Context(), gone.cfg.HostID, true); err != nil {
		t.Fatal(err)
	}
	gone.close()
	own := leader.localServer()
	late := membership.AutopilotRaft{Raft: own.node.Raft(), Servers: own.servers}.AddVoter(raft.ServerID(gone.cfg.HostID), raft.ServerAddress(gone.where), 0, 0)
	if err := late.Error(); err == nil || !strings.Contains(err.Error(), "is no server any more") || late.Index() != 0 {
		t.Errorf("got %v", err)
	}
	if _, is := own.servers.Configured()[raft.ServerID(gone.cfg.HostID)]; is {
		t.Error("it has a vote again")
	}
}

func TestAServerThatTheMajorityNeedsIsNotRemoved(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	down, needed := p.followers()[0], p.followers()[1]
	down.close()
	leader := p.leader().member
	err := leader.Hosts.RemoveHost(t.Context(), needed.cfg.HostID, true)
	if !errors.Is(err, spec.ErrUnavailable) || !strings.Contains(err.Error(), "of the 2 others only 1 answer") {
		t.Errorf("one of three is down, another is removed: %v", err)
	}
	if host := p.view().Host(needed.cfg.HostID); host == nil || !host.Server {
		t.Errorf("it is no server any more: %v", host)
	}
	if err := leader.Hosts.RemoveHost(t.Context(), down.cfg.HostID, true); err != nil {
		t.Errorf("the one that is down: %v", err)
	}
	if err := leader.Hosts.RemoveHost(t.Context(), needed.cfg.HostID, true); err != nil {
		t.Errorf("now that the majority does without it: %v", err)
	}
}

func TestTheOnlyServerLeavesWhenAnotherHostCanTakeItsPlace(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	p.join(1) // two hosts have one server
	last := p.hosts[1]
	eventually(t, "the other is heard of", func() bool { return p.view().Host(last.cfg.HostID) != nil })
	var err error
	eventually(t, "the only server is removed", func() bool {
		err = p.leader().member.Hosts.RemoveHost(t.Context(), first.cfg.HostID, true)
		if err != nil && !errors.Is(err, spec.ErrUnavailable) {
			t.Fatal(err)
		}
		return err == nil
	})
	first.close()
	if host := p.view().Host(last.cfg.HostID); host == nil || !host.Server || p.leader() != last {
		t.Errorf("the host that is left: %+v", host)
	}
	if err := last.member.Hosts.RemoveHost(t.Context(), last.cfg.HostID, true); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("the last host of all: %v", err)
	}
}
