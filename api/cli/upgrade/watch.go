package upgrade

import (
	"context"
	"time"

	"pinion/api/cli/format"
	"pinion/api/cli/upgrade/rolling"
	"pinion/api/client"
)

// watch asks the hosts that the next step waits for: servers how far their state is, and hosts with the program whether they still run it. Agents that have run
// it for the dwell are asked no more as long as they are in contact: a pool may have thousands. While something is under way there is no next step.
func (p *pool) watch(ctx context.Context) error {
	if p.underWay() > 0 {
		return nil
	}
	applied := map[string]*uint64{} // of the servers that have answered, by id
	for _, m := range p.hosts {
		steady := m.State == rolling.Done && m.Steady >= p.pace.Dwell
		if !m.Connected || m.Role == rolling.Agent && (m.State != rolling.Done || steady) {
			continue
		}
		status, err := p.servers.status(ctx, m.ID)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && client.IsUnavailable(err):
			m.Connected = false
			continue
		case err != nil && m.State == rolling.Done:
			m.Problem = format.Plain(err.Error())
		}
		applied[m.ID] = status.Applied
		if m.State != rolling.Done || err != nil {
			continue
		}
		if m.status, m.heard = status, p.inv.Now(); status.Running.Digest != m.ran {
			p.fail(m, "another program was started since: "+status.Running.Version)
		}
	}
	p.aim(applied)
	for _, m := range p.hosts {
		m.assess(p, applied)
	}
	return nil
}

// aim sets the goal of the servers, once for each step.
func (p *pool) aim(applied map[string]*uint64) {
	for _, m := range p.hosts {
		index, answered := applied[m.ID]
		if m.Role != rolling.Leader || !answered || p.asked {
			continue
		}
		if p.goal, p.asked = index, true; index == nil {
			p.inv.Notef("%s, which leads the pool, is of a version that does not say how far its log is: the next step waits for --dwell alone", m.Name)
		}
	}
}

// assess says for how long a host that has the program has been well, and how far a server is behind.
func (m *member) assess(p *pool, applied map[string]*uint64) {
	if m.Behind = 0; m.Role != rolling.Agent {
		index, answered := applied[m.ID]
		if m.Behind = rolling.Unknown; answered && p.asked {
			m.Behind = rolling.Behind(index, p.goal)
		}
	}
	if m.State != rolling.Done {
		return
	}
	now := p.inv.Now()
	if !m.Connected || m.Problem != "" {
		m.unwell = now
	}
	m.Steady = now.Sub(m.unwell)
	if up := time.Duration(m.status.UptimeMS) * time.Millisecond; up > 0 { // a start anew that nobody has seen counts, too
		m.Steady = min(m.Steady, up+now.Sub(m.heard))
	}
}
