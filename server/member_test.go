package server

import (
	"errors"
	"strings"
	"testing"

	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/peer"
)

func TestHostsThatJoinBecomeThreeServersAndAgents(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.waitForVoters(1)
	second := p.join(1)[0]
	eventually(t, "the second host is known", func() bool { return p.view().Host(second.cfg.HostID) != nil })
	p.waitForVoters(1) // two votes are worse than one
	p.join(1)
	p.waitForVoters(3)
	p.join(2)
	p.waitForVoters(3)
	p.checkAgreement()
	for _, h := range p.hosts {
		task := p.run(h)
		eventually(t, "the task runs on its host", func() bool {
			return h.agent.runs(task.ID) && p.view().Task(task.ID).LastStatus == spec.Running
		})
	}
	p.checkAgreement()
}

func TestWhenTheLeaderGoesAnotherOneLeads(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(3)
	p.waitForVoters(3)
	tasks := map[*testHost]*spec.Task{}
	for _, h := range p.hosts {
		tasks[h] = p.run(h)
	}
	before := p.leader()
	before.close()
	if p.leader() == before {
		t.Fatal("a closed host leads")
	}
	p.checkAgreement()
	for h, task := range tasks {
		if h == before {
			continue
		}
		eventually(t, "a task runs on", func() bool { return h.agent.runs(task.ID) })
		again := p.run(h)
		eventually(t, "new tasks arrive", func() bool { return h.agent.runs(again.ID) })
	}
	if err := before.start(); err != nil {
		t.Fatal(err)
	}
	p.waitForVoters(3)
	p.checkAgreement()
	for _, h := range p.hosts {
		assertOrder(t, h)
	}
}

// assertOrder checks that a host was given nothing before it reported, and nothing from the past.
func assertOrder(t *testing.T, h *testHost) {
	t.Helper()
	joined := false
	for _, what := range h.agent.history() {
		switch {
		case strings.HasPrefix(what, "joined"):
			joined = true
		case what == "the past", strings.HasPrefix(what, "given") && !joined:
			t.Errorf("host %d: %s, of %q", h.n, what, h.agent.history())
		}
	}
}

func TestTokensThatLetNobodyIn(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	leader := first.member
	good := p.joinToken()
	once, err := leader.JoinTokens.CreateJoinToken(t.Context(), 0, 0, "host", "") // for one host, unless more is said
	if err != nil {
		t.Fatal(err)
	}
	revoked := p.joinToken()
	parsed, err := admission.ParseToken(revoked)
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.JoinTokens.RevokeJoinToken(t.Context(), parsed.ID); err != nil {
		t.Fatal(err)
	}
	other := newPool(t)
	other.found(nil)
	foreign := other.joinToken()
	parts := strings.Split(good, ".")
	guest := p.host(func(c *MemberConfig) { c.Join, c.JoinToken = first.where, once })
	if err := guest.start(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		joinToken string
		want      error
	}{
		"no token at all":  {"", admission.ErrTokenFormat},
		"another's secret": {strings.Join([]string{parts[0], parts[1], parts[2], "aaaa"}, "."), jointoken.ErrWrong},
		"nobody's token":   {strings.Join([]string{parts[0], parts[1], "beef", parts[3]}, "."), jointoken.ErrUnknown},
		"used up":          {once, jointoken.ErrUsedUp},
		"revoked":          {revoked, jointoken.ErrRevoked},
		"of another pool":  {foreign, peer.ErrOtherPool},
		"cut short":        {good[:len(good)-50], admission.ErrTokenFormat},
	} {
		t.Run(name, func(t *testing.T) {
			h := p.host(func(c *MemberConfig) { c.Join = first.where })
			h.cfg.JoinToken = c.joinToken
			if err := h.start(); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			p.hosts = p.hosts[:len(p.hosts)-1]
		})
	}
}
