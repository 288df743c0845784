package server

import (
	"slices"
	"testing"

	"pinion/server/dispatch"
)

// A host that is moved finds a server again, keeps its tasks, and is never lost meanwhile.
func TestAHostThatIsSentAwayGoesOn(t *testing.T) {
	p := newPool(t)
	leader := p.found(func(c *MemberConfig) { c.Servers = 1 })
	agents := p.join(2)
	before, tasks := map[*testHost]*dispatch.AgentSession{}, map[*testHost]string{}
	for _, agent := range agents {
		tasks[agent] = p.run(agent).ID
		eventually(t, "the task runs", func() bool { return agent.agent.runs(tasks[agent]) })
		if before[agent] = agent.member.upstream.Session(); before[agent] == nil {
			t.Fatal("the agent has no session")
		}
	}
	sessions := leader.member.localServer().agents.Sessions
	var silent []*dispatch.Upstream // sessions without a heartbeat end after some seconds: on a slow machine others follow them
	isMoved := func(agent *testHost) bool {
		now := agent.member.upstream.Session()
		return now != nil && now != before[agent]
	}
	eventually(t, "a host is moved and comes back", func() bool {
		if sessions() < 16 { // one server of three hosts keeps 14
			of := agents[len(silent)%len(agents)]
			other := dispatch.NewUpstream(of.member.session, of.where, of.member.client, quiet())
			_, _ = other.Join(t.Context(), of.agent.host, nil) // refused when the host has as many as one may have: then the other host's turn comes
			silent = append(silent, other)
		}
		return slices.ContainsFunc(agents, isMoved)
	})
	for _, other := range silent {
		other.Close()
	}
	for _, agent := range agents {
		if !agent.agent.runs(tasks[agent]) || p.view().Host(agent.cfg.HostID).Lost() {
			t.Errorf("after the move: %v", agent.agent.history())
		}
		eventually(t, "the host is connected", func() bool { return leader.member.Connected(agent.cfg.HostID) })
	}
	eventually(t, "the sessions are as many as there are", func() bool { return sessions() == 2 })
}
