package server

import "testing"

func TestAServerKeepsTwiceItsShareOfTheHosts(t *testing.T) {
	for _, c := range []struct {
		name                    string
		sessions, hosts, voters int
		sends                   bool
	}{
		{"its share", 333, 1000, 3, false},
		{"one of two that are left", 520, 1000, 3, false},
		{"all, after the others were restarted", 962, 1000, 3, true},
		{"all of a small pool", 8, 12, 3, false},
		{"all, and it is the only server", 999, 1000, 1, false},
		{"half of them, one of five servers", 500, 1000, 5, true},
	} {
		if got := c.sessions > sessionLimit(c.hosts, c.voters); got != c.sends {
			t.Errorf("%s: a server with %d of %d hosts sends some away: %v", c.name, c.sessions, c.hosts, got)
		}
	}
}

func TestACrowdedServerSendsOneHostAwayAtATimeUntilItIsNot(t *testing.T) {
	var c sessionBalancer
	for range 10 {
		c.add()
	}
	now := day0
	sent := 0
	for range 1000 { // ten beats each second, of whatever host
		now = now.Add(moveInterval / 10)
		if c.shouldMove(now, func() int { return 7 }) {
			c.remove()
			sent++
		}
		if most := int(now.Sub(day0)/moveInterval) + 1; sent > most {
			t.Fatalf("%d hosts were sent away in %v", sent, now.Sub(day0))
		}
	}
	if c.sessions != 7 {
		t.Errorf("%d hosts are left of 10 where 7 may stay", c.sessions)
	}
}

// A host that is sent away finds a server again, keeps its tasks, and is never lost meanwhile.
func TestAHostThatIsSentAwayGoesOn(t *testing.T) {
	p := newPool(t)
	leader := p.found(func(c *MemberConfig) { c.Servers = 1 })
	agent := p.join(1)[0]
	task := p.run(agent)
	eventually(t, "the task runs", func() bool { return agent.agent.runs(task.ID) })
	before, ok := agent.member.currentUpstream().(*session)
	if !ok {
		t.Fatal("the agent has no session")
	}
	for range sessionLimit(2, 1) { // as if so many others were here
		leader.member.balancer.add()
	}
	eventually(t, "the host is sent away and comes back", func() bool {
		now, ok := agent.member.currentUpstream().(*session)
		return ok && now != before && now.alive()
	})
	for range sessionLimit(2, 1) {
		leader.member.balancer.remove()
	}
	if !agent.agent.runs(task.ID) || p.view().Host(agent.cfg.HostID).Lost() || !leader.member.Connected(agent.cfg.HostID) {
		t.Errorf("after it came back: %v", agent.agent.history())
	}
	eventually(t, "the crowd is what it is", func() bool {
		leader.member.balancer.mu.Lock()
		defer leader.member.balancer.mu.Unlock()
		return leader.member.balancer.sessions == 1
	})
}
