package liveness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

const (
	// forwardInterval is how often a follower forwards the heartbeats of its hosts to the leader.
	forwardInterval = 400 * time.Millisecond
	// leaderlessTimeout is how long a server keeps its hosts while it reaches no leader. It outlasts an election. After it
	// the hosts are told to choose another server, which may reach one.
	leaderlessTimeout = 5 * time.Second
)

// forwarding is what a follower knows of the leader: which of its hosts the leader does not know, and since when it
// reaches none. The zero value is ready but for its clock.
type forwarding struct {
	now func() time.Time

	mu           sync.Mutex
	unknown      map[string]bool
	failingSince time.Time // zero while the leader answers
}

// check tells a host that beats whether it has to choose another server, or to join again.
func (f *forwarding) check(host string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unknown[host] {
		delete(f.unknown, host)
		return fmt.Errorf("host %s: %w", host, spec.ErrNotFound)
	}
	if f.tooLong() {
		return fmt.Errorf("%w (no leader was reached for %s)", spec.ErrNotLeader, leaderlessTimeout)
	}
	return nil
}

// acknowledge takes in the leader's answer: the hosts that it does not know.
func (f *forwarding) acknowledge(unknown []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failingSince = time.Time{}
	f.unknown = make(map[string]bool)
	for _, host := range unknown {
		f.unknown[host] = true
	}
}

func (f *forwarding) leaderFailed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failingSince.IsZero() {
		f.failingSince = f.now()
	}
}

func (f *forwarding) leaderAnswered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failingSince = time.Time{}
}

// failing reports whether the last try to reach the leader failed.
func (f *forwarding) failing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.failingSince.IsZero()
}

// isCutOff reports whether no leader was reached for leaderlessTimeout.
func (f *forwarding) isCutOff() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tooLong()
}

func (f *forwarding) tooLong() bool {
	return !f.failingSince.IsZero() && f.now().Sub(f.failingSince) > leaderlessTimeout
}

// PathHeartbeats is the path at the leader for heartbeats that another server forwards.
const PathHeartbeats = "/peer/leader/heartbeats"

// Batch is the heartbeats that a server forwards. Ages go with them, because no moment is told by two hosts' clocks: how many
// milliseconds ago each host was heard of.
type Batch struct {
	Hosts  []string
	Ages   []int64
	Clock  int64            // of the server that forwards, in milliseconds since 1970
	Clocks map[string]int64 `json:",omitempty"` // of the hosts whose clock is off: by how many milliseconds it is ahead of that server's

	Drained map[string][]string `json:",omitempty"` // of the hosts that have some: see Monitor.RecordDrained
}

// Reply is the leader's answer: the hosts of the batch that it does not know, or has given up.
type Reply struct{ Hosts []string }

// HeartbeatsHandler is the leader's side of the heartbeats that another server forwards. leader is the monitor of the server here while that
// leads.
func HeartbeatsHandler(leader func() (*Monitor, error)) rpc.HandlerFunc {
	return rpc.ServerJSON(func(_ context.Context, _ string, b Batch) (Reply, error) {
		m, err := leader()
		if err != nil {
			return Reply{}, err
		}
		return m.Receive(b), nil
	})
}

// Forward forwards the heartbeats of this server's hosts to the leader every 400 ms, while this server follows one.
func (m *Monitor) Forward(ctx context.Context) {
	tick := tick.New(forwardInterval)
	defer tick.Stop()
	var told time.Time // the leader knows of all heartbeats before
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if m.client != nil && !m.server.Leads() {
			told = m.forwardOnce(ctx, told)
		}
	}
}

// forwardOnce forwards the heartbeats since told, and returns since when the next time.
func (m *Monitor) forwardOnce(ctx context.Context, told time.Time) time.Time {
	now := m.server.Now()
	batch := m.table.since(told, now)
	address, self := m.leader.Leader()
	if address == "" {
		m.forwarding.leaderFailed()
		return told
	}
	if self || len(batch.Hosts) == 0 && !m.forwarding.failing() { // after a failure the call also shows that the leader is reached again
		return told
	}
	ctx, cancel := context.WithTimeout(ctx, 5*forwardInterval)
	defer cancel()
	ctx, release := m.leader.While(ctx, address)
	defer release()
	var reply Reply
	if err := m.client.Call(ctx, address, PathHeartbeats, batch, &reply); err != nil {
		m.log.Debug("cannot forward heartbeats to the leader", "leader", address, "error", err)
		m.forwarding.leaderFailed()
		return told
	}
	m.forwarding.acknowledge(reply.Hosts)
	return now
}

// Receive is the leader's side of Forward. A heartbeat without an age is new.
func (m *Monitor) Receive(b Batch) Reply {
	now := m.server.Now()
	var unknown Reply
	sender := time.UnixMilli(b.Clock).Sub(now.Round(0))
	for i, host := range b.Hosts {
		if m.checkKnown(host) != nil {
			unknown.Hosts = append(unknown.Hosts, host)
			continue
		}
		if b.Clock != 0 {
			m.recordClock(host, sender+time.Duration(b.Clocks[host])*time.Millisecond)
		}
		at := now
		if i < len(b.Ages) {
			at = now.Add(-max(0, time.Duration(b.Ages[i])*time.Millisecond))
		}
		m.RecordDrained(host, b.Drained[host])
		m.table.record(host, at)
	}
	return unknown
}
