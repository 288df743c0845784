package main

import (
	"fmt"
	"time"
)

// idleFor is how long something that does nothing is watched.
const idleFor = time.Minute

// quiet is how long a pool is left alone before its traffic is counted: connections of its beginning that nobody uses any more
// are kept for a minute.
const quiet = 75 * time.Second

// link is a host's interface in the testbed.
const link = "eth0"

// measureAgent watches a host that runs nothing and is no server.
func measureAgent(p *pool, _ options) ([]figure, error) {
	now, err := p.settled()
	if err != nil {
		return nil, err
	}
	if err := p.rest(quiet); err != nil {
		return nil, err
	}
	pid := now.agent.PID()
	before, err := wireBytes(pid, link)
	if err != nil {
		return nil, err
	}
	if err := p.rest(idleFor); err != nil {
		return nil, err
	}
	after, err := wireBytes(pid, link)
	if err != nil {
		return nil, err
	}
	agent, err := residentMB(pid)
	if err != nil {
		return nil, err
	}
	server, err := residentMB(now.leader.PID())
	if err != nil {
		return nil, err
	}
	return []figure{
		{"idle memory of an agent: pinion (VmRSS)", fmt.Sprintf("%.0f MB", agent), fmt.Sprintf("the leader %.0f MB", server), "at most 45 MB"},
		{"idle agent, one minute on the wire", kB(after - before), "-", "at most 20 kB"},
	}, nil
}

func kB(bytes int64) string { return fmt.Sprintf("%.1f kB", float64(bytes)/1e3) }
