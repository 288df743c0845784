package main

import (
	"context"
	"errors"
)

// measureIdle watches three servers that run nothing: what they say to one another, each byte once, with the headers of TCP, IP and
// Ethernet, and how often the leader's threads wake up.
func measureIdle(ctx context.Context, o options, r *results) (err error) {
	p, err := startPool(ctx, o.binary, servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.down()) }()
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	if err := p.rest(quiet); err != nil {
		return err
	}
	before, err := p.activity()
	if err != nil {
		return err
	}
	if err := p.rest(idleFor); err != nil {
		return err
	}
	after, err := p.activity()
	if err != nil {
		return err
	}
	var wire, leader, followers int64
	for i, h := range p.hosts {
		wire += after[i].wire - before[i].wire
		woken := &followers
		if h == now.leader {
			woken = &leader
		}
		*woken += after[i].wakeups - before[i].wakeups
	}
	return r.add("Servers/idle", 1,
		measured(float64(wire)/2/idleFor.Minutes(), "wire-B/min"),
		measured(float64(leader)/idleFor.Seconds(), "leader-wakeups/s"),
		measured(float64(followers)/(servers-1)/idleFor.Seconds(), "follower-wakeups/s"))
}

// activity is the traffic and the wake-ups of a host's pinion since its start.
type activity struct{ wire, wakeups int64 }

// activity reads the activity of each host of the pool.
func (p *pool) activity() (all []activity, err error) {
	for _, h := range p.hosts {
		wire, err := wireBytes(h.PID(), link)
		if err != nil {
			return nil, err
		}
		wakeups, err := wakeups(h.PID())
		if err != nil {
			return nil, err
		}
		all = append(all, activity{wire, wakeups})
	}
	return all, nil
}
