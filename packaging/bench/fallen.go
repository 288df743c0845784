package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pinion/packaging/testbed"
)

// apart is the time between two hosts of the fleet that fall silent: they come at any moment of their heartbeats.
const apart = 130 * time.Millisecond

// measureFleetLosses makes hosts of the fleet fall silent: how long until the API shows them as not connected, and
// whether others are shown so that are not.
func measureFleetLosses(p *pool, f *fleet) ([]figure, error) {
	now, err := p.settled()
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	alone, err := p.fall(f, fallen, now.leader, gone)
	if err != nil {
		return nil, err
	}
	var elected []time.Duration
	wrong := 0
	for len(elected) < fallen {
		took, wronged, err := p.fallWithLeader(f, gone)
		if err != nil {
			return nil, err
		}
		elected, wrong = append(elected, took...), max(wrong, wronged)
	}
	what := fmt.Sprintf("one of %d simulated hosts falls silent", f.size)
	return append(lossFigures(what, alone, elected), figure{
		"... shown as lost meanwhile and were not, at most", fmt.Sprintf("%d of %d", wrong, f.size-len(gone)), "-", "0",
	}), nil
}

// fall makes n hosts fall silent and asks at a host until all of them are lost. Their ids go into gone.
func (p *pool) fall(f *fleet, n int, at *testbed.Host, gone map[string]bool) (took []time.Duration, err error) {
	since := map[string]time.Time{} // of those that are not lost yet
	fell := 0
	next := time.Now()
	err = p.until("the silent hosts are lost", func() error {
		if fell < n && !time.Now().Before(next) {
			id, err := f.silence()
			if err != nil {
				return hopeless{err}
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

// lostOf are those of the fleet's hosts that one host shows as not connected. During an election it shows nothing, which is
// part of the time that a loss takes.
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

// fallWithLeader is fall while the leader is killed. It also tells how many hosts of all were shown as lost at once, and were
// not.
func (p *pool) fallWithLeader(f *fleet, gone map[string]bool) (took []time.Duration, wrong int, err error) {
	now, err := p.settled()
	if err != nil {
		return nil, 0, err
	}
	if err := now.leader.Kill(p.ctx); err != nil {
		return nil, 0, err
	}
	at := p.others(now.leader, now.agent)[0]
	if took, err = p.fall(f, fallenWithLeader, at, gone); err != nil {
		return nil, 0, err
	}
	if wrong, err = p.wronged(at, gone); err != nil {
		return nil, 0, err
	}
	_, err = p.revive(now.leader)
	return took, wrong, err
}

// wronged counts the hosts of the fleet that are shown as not connected and are not gone.
func (p *pool) wronged(at *testbed.Host, gone map[string]bool) (int, error) {
	var all []member
	if err := p.client(at).get("hosts?cluster="+fleetCluster, &all); err != nil {
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
