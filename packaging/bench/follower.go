package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// described is the number of tasks in one question: ECS's most.
const described = 100

// measureFollower reads from a follower, which answers from its own state after a read index from the leader.
func measureFollower(ctx context.Context, o options, r *results) (err error) {
	p, err := startPool(ctx, o.binary, poolHosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.down()) }()
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	ids, err := p.clients[now.leader].ended(ctx, described)
	if err != nil {
		return err
	}
	follower, leader := p.clients[p.others(now.leader, now.agent)[0]], p.clients[now.leader]
	var through, direct []time.Duration
	for range o.repeats * 10 { // for a 99th percentile
		forwarded, err := follower.describe(ids)
		if err != nil {
			return err
		}
		answered, err := leader.describe(ids)
		if err != nil {
			return err
		}
		through, direct = append(through, forwarded), append(direct, answered)
	}
	return r.add("DescribeTasks/follower", len(through), append(percentiles("", through), percentiles("leader-", direct)...)...)
}

// describe describes tasks, and returns how long that took.
func (c *client) describe(ids []string) (time.Duration, error) {
	raw, took, err := c.timedCall("DescribeTasks", object{"tasks": ids})
	if err != nil {
		return 0, err
	}
	var answer tasks
	if err = json.Unmarshal(raw, &answer); err == nil && len(answer.Tasks) != len(ids) {
		err = fmt.Errorf("%d of %d tasks were described: %v", len(answer.Tasks), len(ids), answer.Failures)
	}
	return took, err
}
