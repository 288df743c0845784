package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pinion/packaging/testbed"
)

// apart is the time between two hosts that fall silent, so that each does at another moment of its heartbeat interval.
const apart = 130 * time.Millisecond

// measureFleetLosses makes hosts of the fleet fall silent: how long until the API shows them as not connected, and
// whether others are shown so that are not.
func measureFleetLosses(p *pool, f *fleet, r *results) error {
	now, err := p.waitReady()
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	alone, err := p.silenceHosts(f, silentHosts, now.leader, gone)
	if err != nil {
		return err
	}
	if err := r.add("HostLoss/fleet", len(alone), percentiles("", alone)...); err != nil {
		return err
	}
	var elected []time.Duration
	wrong := 0
	for len(elected) < silentHosts {
		took, wronged, err := p.silenceWithLeader(f, gone)
		if err != nil {
			return err
		}
		elected, wrong = append(elected, took...), max(wrong, wronged)
	}
	return r.add("HostLoss/fleet-and-leader-killed", len(elected), append(percentiles("", elected), measured(float64(wrong), "wrongly-lost"), measured(float64(f.size-len(gone)), "hosts"))...)
}

// silenceHosts makes n hosts fall silent and asks at a host until all of them are lost. Their ids go into gone.
func (p *pool) silenceHosts(f *fleet, n int, at *testbed.Host, gone map[string]bool) (took []time.Duration, err error) {
	since := map[string]time.Time{} // of those that are not lost yet
	fell := 0
	next := time.Now()
	err = p.until("the silent hosts are lost", func() error {
		if fell < n && !time.Now().Before(next) {
			id, err := f.silence()
			if err != nil {
				return permanent{err}
			}
			fell++
			since[id], gone[id], next = time.Now(), true, time.Now().Add(apart)
		}
		lost, err := p.lostOf(at, slices.Collect(maps.Keys(since)))
		for _, id := range lost {
			took = append(took, time.Since(since[id]))
			delete(since, id)
		}
		if err == nil && len(took) < n {
			err = fmt.Errorf("%d of %d are", len(took), n)
		}
		return err
	})
	return took, err
}

// lostOf are the fleet's hosts that one host shows as not connected. During an election it shows none, which is part of the time that a loss takes.
func (p *pool) lostOf(at *testbed.Host, ids []string) (lost []string, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	connected, err := p.connected(at, fleetCluster, ids)
	for id, is := range connected {
		if !is {
			lost = append(lost, id)
		}
	}
	return lost, err
}

// silenceWithLeader is silenceHosts while the leader is killed. It also tells how many hosts of all were shown as lost at once, and were
// not.
func (p *pool) silenceWithLeader(f *fleet, gone map[string]bool) (took []time.Duration, wrong int, err error) {
	now, err := p.waitReady()
	if err != nil {
		return nil, 0, err
	}
	if err := now.leader.Kill(p.ctx); err != nil {
		return nil, 0, err
	}
	at := p.others(now.leader, now.agent)[0]
	if took, err = p.silenceHosts(f, silentWithLeader, at, gone); err != nil {
		return nil, 0, err
	}
	if wrong, err = p.wronglyLost(at, gone); err != nil {
		return nil, 0, err
	}
	_, err = p.revive(now.leader)
	return took, wrong, err
}

// wronglyLost counts the hosts of the fleet that are shown as not connected and are not gone.
func (p *pool) wronglyLost(at *testbed.Host, gone map[string]bool) (int, error) {
	all, err := p.client(at).hosts(fleetCluster)
	if err != nil {
		return 0, err
	}
	wrong := 0
	for _, m := range all {
		if !m.Connected && !gone[m.ID] {
			wrong++
		}
	}
	return wrong, nil
}
