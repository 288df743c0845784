package server

import (
	"errors"
	"testing"

	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

// Root of a server is root of the pool. So the operator says who may become one: hosts that joined with a token for agents do not, however few
// servers there are and however long they have been there; the others do before them.
func TestAHostThatJoinedAsAnAgentNeverBecomesAServer(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	first := p.found(nil)
	token, err := first.member.JoinTokens.CreateJoinToken(t.Context(), 0, 9, jointoken.RoleAgent, "")
	if err != nil {
		t.Fatal(err)
	}
	var agents []*testHost
	for range 2 {
		h := p.host(func(c *MemberConfig) { c.Join, c.JoinToken = first.where, token })
		if err := h.start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the agent is known", func() bool { return p.view().Host(h.cfg.HostID) != nil })
		if err := first.member.Hosts.Promote(t.Context(), h.cfg.HostID); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("it is promoted: %v", err)
		}
		agents = append(agents, h)
	}
	p.join(2)
	p.waitForVoters(3)
	if err := first.member.Hosts.Demote(t.Context(), p.followers()[0].cfg.HostID); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("an agent takes the place of a server: %v", err)
	}
	for _, h := range agents {
		if h.member.localServer() != nil || p.view().Host(h.cfg.HostID).Server || !p.view().Admission(h.cfg.HostID).AgentOnly {
			t.Errorf("host %d, which joined as an agent, is a server", h.n)
		}
	}
}
