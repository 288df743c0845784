package main

import "time"

// idleFor is the time for which an idle process is watched.
const idleFor = time.Minute

// quiet is the rest of a pool before its traffic is counted: connections of its beginning that nobody uses any more are kept for a minute.
const quiet = 75 * time.Second

// link is a host's interface in the testbed.
const link = "eth0"

// measureAgent watches a host that runs nothing and is no server.
func measureAgent(p *pool, _ options, r *results) error {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	if err := p.rest(quiet); err != nil {
		return err
	}
	pid := now.agent.PID()
	before, err := wireBytes(pid, link)
	if err != nil {
		return err
	}
	if err := p.rest(idleFor); err != nil {
		return err
	}
	after, err := wireBytes(pid, link)
	if err != nil {
		return err
	}
	agent, err := residentBytes(pid)
	if err != nil {
		return err
	}
	leader, err := residentBytes(now.leader.PID())
	if err != nil {
		return err
	}
	return r.add("Agent/idle", 1, measured(agent, "agent-B"), measured(leader, "leader-B"), measured(float64(after-before)/idleFor.Minutes(), "wire-B/min"))
}
