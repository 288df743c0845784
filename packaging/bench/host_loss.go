package main

import (
	"errors"
	"fmt"
	"time"

	"pinion/packaging/testbed"
	"pinion/raftfsm/spec"
)

// measureLosses cuts an agent off from all others: how long until the API shows it as not connected. Once the pool is
// whole, and once the leader is killed at the same moment.
func measureLosses(p *pool, _ options, r *results) error {
	for name, withLeader := range map[string]bool{"HostLoss/cut": false, "HostLoss/cut-and-leader-killed": true} {
		losses, err := p.loseHost(minRepeats, withLeader)
		if err != nil {
			return err
		}
		if err := r.add(name, len(losses), percentiles("", losses)...); err != nil {
			return err
		}
	}
	return nil
}

// loseHost cuts the agent off, and returns the times until the API shows it as lost.
func (p *pool) loseHost(repeats int, withLeader bool) (took []time.Duration, err error) {
	for range repeats {
		now, err := p.waitReady()
		if err != nil {
			return nil, err
		}
		begin, asked := time.Now(), now.leader
		if err := p.isolate(now.agent); err != nil {
			return nil, errors.Join(err, p.testbed.Heal())
		}
		if withLeader {
			if err := now.leader.Kill(p.ctx); err != nil {
				return nil, errors.Join(err, p.testbed.Heal())
			}
			asked = p.others(now.agent, now.leader)[0]
		}
		err = p.until("host "+now.agent.Name+" is lost", func() error { return p.lost(asked, now.ids[now.agent.Name]) })
		took = append(took, time.Since(begin))
		err = errors.Join(err, p.testbed.Heal())
		if err == nil && withLeader {
			_, err = p.revive(now.leader)
		}
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

// isolate cuts all links between a host and the others.
func (p *pool) isolate(h *testbed.Host) error {
	for _, other := range p.others(h) {
		if err := p.testbed.CutBoth(h, other); err != nil {
			return err
		}
	}
	return nil
}

// errConnected is returned for a host that is not lost.
var errConnected = errors.New("it is shown as connected")

// lost returns nil when one host shows another as not connected.
func (p *pool) lost(at *testbed.Host, id string) error {
	connected, err := p.connected(at, spec.DefaultCluster, []string{id})
	if err == nil && connected[id] {
		err = errConnected
	}
	return err
}

// connected returns the hosts of a cluster with their connection, as one host shows them, by their ids, a hundred at most.
func (p *pool) connected(at *testbed.Host, cluster string, ids []string) (map[string]bool, error) {
	var answer struct {
		Instances []struct {
			ARN       string `json:"containerInstanceArn"`
			Connected bool   `json:"agentConnected"`
		} `json:"containerInstances"`
	}
	if err := p.client(at).call("DescribeContainerInstances", object{"cluster": cluster, "containerInstances": ids}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Instances) != len(ids) {
		return nil, fmt.Errorf("%d of %d hosts are described", len(answer.Instances), len(ids))
	}
	known := map[string]bool{}
	for _, i := range answer.Instances {
		known[idOf(i.ARN)] = i.Connected
	}
	return known, nil
}
