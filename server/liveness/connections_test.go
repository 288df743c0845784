package liveness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/change"
	"pinion/raftfsm/spec"
)

// recordedPool is a leader's monitor, its hosts, and the state that its commands change.
type recordedPool struct {
	monitor *Monitor
	state   *raftfsm.State
	now     time.Time
	entries int
	broken  bool // nothing can be recorded
}

func (p *recordedPool) State() *raftfsm.State { return p.state }
func (p *recordedPool) Now() time.Time        { return p.now }
func (p *recordedPool) Leads() bool           { return true }

func (p *recordedPool) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	if p.broken {
		return nil, errors.New("no majority")
	}
	p.entries++
	return p.state.Apply(p.state.View().Index()+1, c)
}

func newRecordedPool(t *testing.T, hosts int) *recordedPool {
	t.Helper()
	p := &recordedPool{state: raftfsm.NewState(), now: day0}
	p.monitor = New(p, slog.New(slog.DiscardHandler), nil, nil, 4*time.Second)
	commands := []raftfsm.Command{raftfsm.CreatePool{Pool: spec.Pool{ID: "pool", CreatedAt: day0}}}
	for i := range hosts {
		commands = append(commands, raftfsm.PutHost{Host: spec.Host{ID: hostID(i), Name: hostID(i)}})
	}
	for _, c := range commands {
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	p.entries = 0
	p.monitor.StartTerm(time.Hour)
	return p
}

func hostID(i int) string { return fmt.Sprintf("host-%04d", i) }

// run lets the leader look at each moment for a time in which the hosts beat that alive names; each beats at a moment of its own in each
// second.
func (p *recordedPool) run(t *testing.T, r *connectionRecorder, hosts int, lasts time.Duration, alive func(host int, at time.Duration) bool) {
	t.Helper()
	began := p.now
	for ; p.now.Sub(began) < lasts; p.now = p.now.Add(10 * time.Millisecond) {
		for i := range hosts {
			if phase := time.Duration(i*10) * time.Millisecond % time.Second; p.now.Sub(day0)%time.Second == phase && alive(i, p.now.Sub(day0)) {
				p.monitor.Record(hostID(i))
			}
		}
		r.record(t.Context(), p)
	}
}

// told lists what became of hosts, by host.
func (p *recordedPool) told(t *testing.T) map[string][]change.Connection {
	t.Helper()
	changes, _, err := p.state.Changes(raftfsm.Position{}, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	byHost := map[string][]change.Connection{}
	for _, c := range changes {
		if c.Connection != "" {
			byHost[c.Host().ID] = append(byHost[c.Host().ID], c.Connection)
		}
	}
	return byHost
}

func TestTheHostsOfARackAreLostAndBackInFewEntries(t *testing.T) {
	const hosts, rack = 400, 300
	p := newRecordedPool(t, hosts)
	r := &connectionRecorder{monitor: p.monitor}
	cut := func(host int, at time.Duration) bool {
		return host >= rack || at < 5*time.Second || at >= 30*time.Second
	}
	p.run(t, r, hosts, 10*time.Second, cut) // the last beat of each was within the last second before 5 s
	if lost := p.told(t); len(lost) != rack || p.entries > 4 {
		t.Errorf("after 5 s of silence %d hosts are lost, in %d entries", len(lost), p.entries)
	}
	p.run(t, r, hosts, 30*time.Second, cut)
	for host, told := range p.told(t) {
		if len(told) != 2 || told[0] != change.HostDisconnected || told[1] != change.HostBack {
			t.Fatalf("%s: %v", host, told)
		}
	}
	if p.entries > 8 {
		t.Errorf("%d entries for a rack that was away once", p.entries)
	}
}

func TestAHostThatFlapsIsToldOfOnceInTenSeconds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p, lasts := newRecordedPool(t, 1), 10*time.Minute
	r, until, alive := &connectionRecorder{monitor: p.monitor}, time.Duration(0), false
	p.run(t, r, 1, lasts, func(_ int, at time.Duration) bool {
		for at >= until {
			until, alive = until+4*time.Second+time.Duration(random.Int64N(int64(2*time.Second))), !alive
		}
		return alive
	})
	if p.entries == 0 || p.entries > int(lasts/(10*time.Second))+1 {
		t.Errorf("%d entries in %v", p.entries, lasts)
	}
	for i, told := range p.told(t)[hostID(0)] {
		if want := []change.Connection{change.HostDisconnected, change.HostBack}[i%2]; told != want {
			t.Errorf("record %d is %s, not %s", i, told, want)
		}
	}
}

func TestALeaseBringsNoHostBackAndLosesNone(t *testing.T) {
	p := newRecordedPool(t, 2)
	silent := func(int, time.Duration) bool { return false }
	p.run(t, &connectionRecorder{monitor: p.monitor}, 2, 5*time.Second, silent)
	entries := p.entries
	p.monitor.StartTerm(time.Hour) // another leader, which has heard of no host yet
	p.run(t, &connectionRecorder{monitor: p.monitor}, 2, 20*time.Second, silent)
	if told := p.told(t)[hostID(0)]; len(told) != 1 || p.entries != entries {
		t.Errorf("told %v, %d entries", told, p.entries)
	}
}

func TestWhatCouldNotBeRecordedIsRecordedLater(t *testing.T) {
	p := newRecordedPool(t, 1)
	r, silent := &connectionRecorder{monitor: p.monitor}, func(int, time.Duration) bool { return false }
	p.broken = true
	p.run(t, r, 1, 8*time.Second, silent)
	p.broken = false
	p.run(t, r, 1, time.Second, silent)
	if told := p.told(t)[hostID(0)]; len(told) != 1 || told[0] != change.HostDisconnected {
		t.Errorf("told %v", told)
	}
}
