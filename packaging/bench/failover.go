package main

import (
	"fmt"
	"time"

	"pinion/packaging/testbed"
)

// measureKills kills the leader's pinion again and again: how long until the next RunTask is accepted, of a client that
// asks the other hosts in turn with one client token until one has accepted it.
func measureKills(p *pool, o options) ([]figure, error) {
	now, err := p.settled()
	if err != nil {
		return nil, err
	}
	if err := p.client(now.agent).define("kill"); err != nil {
		return nil, err
	}
	var took []time.Duration
	for n := range o.kills {
		begin := time.Now()
		if err := now.leader.Kill(p.ctx); err != nil {
			return nil, err
		}
		accepted, err := p.runElsewhere(now.leader, fmt.Sprint("kill-", n))
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
		if now, err = p.revive(now.leader); err != nil {
			return nil, err
		}
		if err := p.client(now.agent).stop(accepted); err != nil {
			return nil, err
		}
	}
	what := fmt.Sprintf("kill -9 of the leader -> next accepted RunTask, %d kills", o.kills)
	return []figure{
		{what + ", p50", ms(median(took)), "-", "at most 1.5 s"},
		{what + ", p99", ms(percentile(took, 0.99)), "-", "at most 4 s"},
	}, nil
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
		case final(err):
			return hopeless{err}
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
func (p *pool) revive(h *testbed.Host) (placed, error) {
	if err := h.Start(p.ctx); err != nil {
		return placed{}, err
	}
	return p.settled()
}
