package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// described is how many tasks one question is about: ECS's most.
const described = 100

// measureFollower asks a server that does not lead, which answers from its own state once the leader said that it may.
func measureFollower(ctx context.Context, o options) (figures []figure, err error) {
	p, err := startPool(ctx, o.binary)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.down()) }()
	now, err := p.settled()
	if err != nil {
		return nil, err
	}
	ids, err := p.clients[now.leader].ended(ctx, described)
	if err != nil {
		return nil, err
	}
	follower, leader := p.clients[p.others(now.leader, now.agent)[0]], p.clients[now.leader]
	var through, direct []time.Duration
	for range o.rounds * 10 { // for a 99th percentile
		passedOn, err := follower.describe(ids)
		if err != nil {
			return nil, err
		}
		answered, err := leader.describe(ids)
		if err != nil {
			return nil, err
		}
		through, direct = append(through, passedOn), append(direct, answered)
	}
	return []figure{
		{"DescribeTasks of 100 tasks through a follower, p50", ms(median(through)), "the leader itself " + ms(median(direct)), "at most 3 ms"},
		{"DescribeTasks of 100 tasks through a follower, p99", ms(percentile(through, 0.99)), "the leader itself " + ms(percentile(direct, 0.99)), "at most 15 ms"},
	}, nil
}

// describe asks about tasks, and answers how long it took until the answer was there.
func (c *client) describe(ids []string) (time.Duration, error) {
	raw, took, err := c.ask("DescribeTasks", object{"tasks": ids})
	if err != nil {
		return 0, err
	}
	var answer tasks
	if err = json.Unmarshal(raw, &answer); err == nil && len(answer.Tasks) != len(ids) {
		err = fmt.Errorf("%d of %d tasks were described: %v", len(answer.Tasks), len(ids), answer.Failures)
	}
	return took, err
}
