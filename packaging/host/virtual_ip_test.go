package host

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"pinion/node/machine"
	"pinion/node/virtualip"
	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/spec"
	"pinion/server/liveness"
)

// start starts a process of a host, which the pool hears of first.
func (h *modelHost) start(ctx context.Context) {
	p := &modelProcess{host: h}
	ctx, cancel := context.WithCancel(ctx)
	h.kill = func() {
		p.dead, h.kill = true, nil
		cancel()
	}
	h.starts++
	host := spec.Host{ID: h.id, Name: h.id, Starts: h.starts, VirtualIPs: []iplease.Offer{{IP: modelIP, Bits: 24}, {IP: "10.0.0.101", Bits: 24}, {IP: "10.0.0.102", Bits: 24}}}
	h.m.commit(raftfsm.PutHost{Host: host})
	began := time.Now()
	boot := machine.BootClock{Since: func() time.Duration { return time.Since(began) }}
	go virtualip.Run(ctx, virtualip.Config{
		HostID: h.id, Starts: h.starts, Control: p, Device: p.device, Problem: func(string, string) {}, Boot: boot, Log: slog.New(slog.DiscardHandler),
	}, host.VirtualIPs)
}

// commit records what somebody else has proposed; m.mu is held.
func (m *ipModel) commit(c raftfsm.Command) {
	m.log = append(m.log, c)
	if m.leader.term == m.term {
		_ = m.leader.catchUp()
	}
}

// disturb is what goes wrong in a second.
func (m *ipModel) disturb(ctx context.Context) {
	h := m.hosts[m.random.IntN(modelHosts)]
	switch m.random.IntN(20) {
	case 0, 1:
		if m.stable && !m.chance(20) {
			return
		}
		m.elect(m.servers[m.random.IntN(modelHosts)])
	case 2:
		if h.kill != nil {
			h.kill()
		}
	case 3, 4:
		if h.kill == nil {
			h.start(ctx)
		}
	case 5:
		m.commit(raftfsm.SetHostStatus{ID: h.id, Status: spec.HostDraining})
	case 8, 9:
		s := m.servers[m.random.IntN(modelHosts)]
		s.cut[h.id] = !s.cut[h.id]
	case 6, 7:
		m.commit(raftfsm.SetHostStatus{ID: h.id, Status: spec.HostActive})
	}
}

// simulateVirtualIP plays a random history, and returns when two hosts had the address at once, how often it moved, and who has it in the end.
func simulateVirtualIP(t *testing.T, seed uint64, unsafe unsafeLeader) (overlaps []string, moves int, holders []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &ipModel{random: rand.New(rand.NewPCG(seed, 1)), stable: seed%3 == 2, unsafe: unsafe, log: []raftfsm.Command{raftfsm.CreatePool{Pool: spec.Pool{ID: "pool"}}}}
		for i := range modelHosts {
			s := &modelServer{m: m, state: raftfsm.NewState(), cut: map[string]bool{}, elected: make(chan (<-chan struct{}), int(modelTime/time.Second)+2)}
			s.leases = liveness.NewVirtualIPs(s)
			m.servers[i], m.hosts[i] = s, &modelHost{m: m, id: fmt.Sprint("host", i)}
			go s.run(ctx)
		}
		m.locked(func() {
			m.elect(m.servers[0])
			for _, h := range m.hosts {
				h.start(ctx)
			}
		})
		for range int(modelTime / time.Second) {
			time.Sleep(time.Second)
			m.locked(func() { m.disturb(ctx) })
		}
		m.converge(ctx)
		m.locked(func() {
			overlaps, moves = m.overlaps, m.moves
			for _, h := range m.hosts {
				if time.Now().Before(h.gone) {
					holders = append(holders, h.id)
				}
			}
		})
		cancel()
		time.Sleep(time.Minute) // what is on its way arrives
	})
	return overlaps, moves, holders
}

// converge ends all faults, and waits for longer than it may take until one host has the address.
func (m *ipModel) converge(ctx context.Context) {
	m.locked(func() {
		m.calm = true
		for _, s := range m.servers {
			clear(s.cut)
		}
		for _, h := range m.hosts {
			if h.kill == nil {
				h.start(ctx)
			}
			m.commit(raftfsm.SetHostStatus{ID: h.id, Status: spec.HostActive})
		}
	})
	time.Sleep(20 * time.Second) // every server has heard who leads
	m.locked(func() { m.elect(m.servers[0]) })
	time.Sleep(40 * time.Second)
}

// In random histories of elections, messages that are late, processes that are killed and hosts that are drained, no two hosts have the
// address at once, and one has it when all is well again.
func TestOneHostAtATimeHasAVirtualIP(t *testing.T) {
	const histories = 30
	total := 0
	for seed := range uint64(histories) {
		overlaps, moves, holders := simulateVirtualIP(t, seed, unsafeLeader{})
		if len(overlaps) > 0 {
			t.Errorf("history %d: two hosts have the address, %d times; at first\n%s", seed, len(overlaps), overlaps[0])
		}
		if len(holders) != 1 {
			t.Errorf("history %d: when all is well %v have the address", seed, holders)
		}
		total += moves
	}
	if total < 10*histories {
		t.Errorf("the address was taken %d times in all: the histories show little", total)
	}
}

// Each part of the protocol is needed: without it some history has two holders.
func TestTheModelOfVirtualIPsFindsTwoHolders(t *testing.T) {
	const histories = 400
	for name, unsafe := range map[string]unsafeLeader{
		"the end of no lease is waited for":              {lease: true},
		"no voter is asked whether the leader leads":     {check: true},
		"what an earlier leader proposes is not refused": {assigner: true},
	} {
		found := false
		for seed := uint64(0); seed < histories && !found; seed++ {
			overlaps, _, _ := simulateVirtualIP(t, seed, unsafe)
			found = len(overlaps) > 0
		}
		if !found {
			t.Errorf("%s: no history has two holders", name)
		}
	}
}
