package server

import (
	"testing"

	"pinion/server/dispatch"
)

// A host that is moved finds a server again, keeps its tasks, and is never lost meanwhile.
func TestAHostThatIsSentAwayGoesOn(t *testing.T) {
	p := newPool(t)
	leader := p.found(func(c *MemberConfig) { c.Servers = 1 })
	agents := p.join(2)
	agent := agents[0]
	task := p.run(agent)
	eventually(t, "the task runs", func() bool { return agent.agent.runs(task.ID) })
	before := agent.member.upstream.Session()
	if before == nil {
		t.Fatal("the agent has no session")
	}
	var others []*dispatch.Upstream // more sessions than one server of a pool with three hosts keeps, and as many as each may have
	for _, of := range agents {
		for range 7 {
			other := dispatch.NewUpstream(sessionHost{of.member}, of.where, of.member.client, quiet())
			if _, err := other.Join(t.Context(), of.agent.host, nil); err != nil {
				t.Fatal(err)
			}
			others = append(others, other)
		}
	}
	eventually(t, "the host is moved and comes back", func() bool {
		now := agent.member.upstream.Session()
		return now != nil && now != before
	})
	for _, other := range others {
		other.Close()
	}
	if !agent.agent.runs(task.ID) || p.view().Host(agent.cfg.HostID).Lost() || !leader.member.Connected(agent.cfg.HostID) {
		t.Errorf("after it came back: %v", agent.agent.history())
	}
	eventually(t, "the sessions are as many as there are", func() bool { return leader.member.localServer().agents.Sessions() == 2 })
}
