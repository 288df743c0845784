package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	apiclient "pinion/api/client"
	"pinion/packaging/testbed"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

const (
	// poolHosts run pinion in most pools: three servers, and an agent that is nothing else.
	poolHosts = 4
	servers   = 3
	// waitTimeout bounds every wait. It is no target.
	waitTimeout = 90 * time.Second
)

// pool is some Pinion hosts, each in a network namespace of its own, with eight simulated GPUs each. One place more in the testbed is
// the fleet's.
type pool struct {
	testbed *testbed.Testbed
	ctx     context.Context
	hosts   []*testbed.Host // that run pinion
	spare   *testbed.Host   // a place in the network without a pinion
	clients map[*testbed.Host]*client
}

// measurePool measures what several hosts do together.
func measurePool(ctx context.Context, o options, r *results) (err error) {
	p, err := startPool(ctx, o.binary, poolHosts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.down()) }()
	for _, measure := range []func(*pool, options, *results) error{measureAgent, measurePoolReplies, measureKeyPresses, measureKills, measureLosses} {
		if err := measure(p, o, r); err != nil {
			return err
		}
	}
	return nil
}

// startPool starts the servers first, so that hosts beyond them are agents.
func startPool(ctx context.Context, binary string, hosts int) (*pool, error) {
	dir, err := os.MkdirTemp("", "pinion-bench-")
	if err != nil {
		return nil, err
	}
	config := testbed.Config{Dir: dir, Binary: binary, Hosts: make([][]string, hosts+1)}
	for i := range config.Hosts {
		config.Hosts[i] = []string{"--gpus", "sim:8xh100"}
	}
	b, err := testbed.New(config)
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	p := &pool{testbed: b, ctx: ctx, hosts: b.Hosts()[:hosts], spare: b.Hosts()[hosts], clients: map[*testbed.Host]*client{}}
	if err := p.start(); err != nil {
		return nil, errors.Join(err, p.down())
	}
	return p, nil
}

func (p *pool) start() error {
	ctx, cancel := context.WithTimeout(p.ctx, waitTimeout)
	defer cancel()
	if err := p.hosts[0].Start(ctx); err != nil {
		return err
	}
	if err := p.connect(ctx); err != nil {
		return err
	}
	join, err := p.hosts[0].JoinFlags(len(p.hosts), "default")
	if err != nil {
		return err
	}
	for _, h := range p.hosts[1:] {
		if err := h.Start(ctx, join...); err != nil {
			return err
		}
	}
	_, err = p.waitReady()
	return err
}

// connect makes an access key at the first host, and a client with it for every host.
func (p *pool) connect(ctx context.Context) error {
	root, err := newClient(p.hosts[0].Dir)
	if err != nil {
		return err
	}
	key, err := root.api.CreateKey(ctx, apiclient.NewKey{Role: string(accesskey.RoleAdmin)})
	if err != nil {
		return err
	}
	for _, h := range p.hosts {
		if p.clients[h], err = newClientWithKey(h.Dir, key); err != nil {
			return err
		}
	}
	return nil
}

// down takes the testbed away, also when the bench was interrupted.
func (p *pool) down() error { return p.testbed.Down(context.Background()) }

// client is the one that talks to the host.
func (p *pool) client(h *testbed.Host) *client { return p.clients[h] }

// roles are the hosts of the pool by their role, and where each is known.
type roles struct {
	leader *testbed.Host
	agent  *testbed.Host
	ids    map[string]string // id of each host that runs pinion, by name
}

// others are the hosts but these.
func (p *pool) others(not ...*testbed.Host) []*testbed.Host {
	return slices.DeleteFunc(slices.Clone(p.hosts), func(h *testbed.Host) bool { return slices.Contains(not, h) })
}

// waitReady waits until every host that runs pinion sees all of them connected, three of them servers.
func (p *pool) waitReady() (roles, error) {
	var now roles
	for _, h := range p.hosts {
		err := p.until("all hosts are connected, as "+h.Name+" sees it", func() error {
			all, err := p.client(h).hosts(spec.DefaultCluster)
			if err != nil {
				return err
			}
			var ready bool
			if now, ready = p.rolesOf(all); !ready {
				return fmt.Errorf("it shows %+v", all)
			}
			return nil
		})
		if err != nil {
			return now, err
		}
	}
	return now, nil
}

// rolesOf returns the hosts by role, and whether the pool is complete.
func (p *pool) rolesOf(all []apiclient.Host) (now roles, ready bool) {
	now.ids = map[string]string{}
	voters, connected := 0, 0
	for _, m := range all {
		h, err := p.testbed.Host(m.Name)
		if err != nil {
			continue
		}
		now.ids[m.Name] = m.ID
		if m.Connected {
			connected++
		}
		switch m.Role {
		case "leader":
			now.leader = h
			voters++
		case "server":
			voters++
		case "agent":
			now.agent = h
		}
	}
	return now, connected == len(p.hosts) && voters == servers && now.leader != nil && (now.agent != nil || voters == connected)
}

// until tries again and again, until nothing is wrong or the error is permanent. Its error says what was wrong last.
func (p *pool) until(what string, try func() error) error {
	end := time.Now().Add(waitTimeout)
	for {
		wrong := try()
		switch {
		case wrong == nil || errors.As(wrong, new(permanent)):
			return wrong
		case p.ctx.Err() != nil:
			return context.Cause(p.ctx)
		case time.Now().After(end):
			return fmt.Errorf("after %v still not: %s: %w", waitTimeout, what, wrong)
		}
		pause()
	}
}

// permanent is an error that another try would not change.
type permanent struct{ error }

// rest leaves the pool alone.
func (p *pool) rest(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}
