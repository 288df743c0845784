package main

import (
	"fmt"
	"time"

	"pinion/packaging/testbed"
)

// measureKills kills the leader's pinion again and again: how long until the next RunTask is accepted, of a client that
// asks the other hosts in turn with one client token until one has accepted it.
func measureKills(p *pool, o options, r *results) error {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	if err := p.client(now.agent).define("kill"); err != nil {
		return err
	}
	var gaps []time.Duration
	for n := range o.kills {
		begin := time.Now()
		if err := now.leader.Kill(p.ctx); err != nil {
			return err
		}
		accepted, err := p.runElsewhere(now.leader, fmt.Sprint("kill-", n))
		if err != nil {
			return err
		}
		gaps = append(gaps, time.Since(begin))
		if now, err = p.revive(now.leader); err != nil {
			return err
		}
		if err := p.client(now.agent).stop(accepted); err != nil {
			return err
		}
	}
	return r.add("Pool/leader-killed", o.kills, percentiles("", gaps)...)
}

// runElsewhere asks the hosts but this one in turn, until one accepts a task.
func (p *pool) runElsewhere(dead *testbed.Host, token string) (accepted task, err error) {
	others := p.others(dead)
	n := 0
	err = p.until("a task is accepted", func() error {
		var answer tasks
		err := p.client(others[n%len(others)]).call("RunTask", object{"taskDefinition": "kill", "clientToken": token}, &answer)
		n++
		switch {
		case isFinal(err):
			return permanent{err}
		case err != nil:
			return err
		case len(answer.Tasks) != 1:
			return fmt.Errorf("it is refused: %v", answer.Failures)
		}
		accepted = answer.Tasks[0]
		return nil
	})
	return accepted, err
}

// revive starts a host again and waits until all are connected.
func (p *pool) revive(h *testbed.Host) (roles, error) {
	if err := h.Start(p.ctx); err != nil {
		return roles{}, err
	}
	return p.waitReady()
}
