package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
	"pinion/raftfsm/virtualip"
)

// fakeLeases are leases of which the test says when they have ended.
type fakeLeases struct {
	ended   bool
	silent  map[string]bool
	revoked map[string]bool
}

func (l *fakeLeases) StartTerm(context.Context, string) error { return nil }
func (l *fakeLeases) EndTerm()                                {}
func (l *fakeLeases) Asks(hostID, _ string) bool              { return !l.silent[hostID] }

func (l *fakeLeases) Revoked(ip string, epoch int64) bool { return l.revoked[fmt.Sprint(ip, epoch)] }

func (l *fakeLeases) End(ip string, epoch int64) bool {
	l.revoked[fmt.Sprint(ip, epoch)] = true
	return l.ended
}

func TestAVirtualIPGoesToAHostThatServes(t *testing.T) {
	const ip = "10.0.0.100"
	p := &memProposer{state: raftfsm.NewState()}
	leases := &fakeLeases{ended: true, silent: map[string]bool{}, revoked: map[string]bool{}}
	r := &VirtualIPs{Proposer: p, Leases: leases, Log: slog.New(slog.DiscardHandler)}
	do := func(c raftfsm.Command) {
		t.Helper()
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	put := func(id string, change func(h *spec.Host)) {
		h := spec.Host{ID: id, Name: id, VirtualIPs: []iplease.Offer{{IP: ip, Bits: 24}}}
		if change != nil {
			change(&h)
		}
		do(raftfsm.PutHost{Host: h})
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	do(raftfsm.Wrap(virtualip.BecomeAssigner{Token: "mine"}))
	put("a", nil)
	put("b", nil)
	do(raftfsm.PutHost{Host: spec.Host{ID: "0", Name: "offers nothing"}})
	r.assigner = "mine"
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"at first", func() {}, "a 1"},
		{"nothing happens", func() {}, "a 1"},
		{"a is drained, and its lease is in force", func() { leases.ended = false; do(raftfsm.SetHostStatus{ID: "a", Status: spec.HostDraining}) }, "a 1"},
		{"it has ended", func() { leases.ended = true }, "b 2"},
		{"a is back", func() { do(raftfsm.SetHostStatus{ID: "a", Status: spec.HostActive}) }, "b 2"},
		{"b is silent for a moment, and its lease is in force", func() { leases.ended, leases.silent["b"] = false, true }, "b 2"},
		{"it is back before that has ended", func() { leases.silent["b"] = false }, "b 2"},
		{"the lease that was revoked is replaced", func() { leases.ended = true }, "b 3"},
		{"b lacks a listener", func() { put("b", func(h *spec.Host) { h.ListenerProblems = []traffic.ListenerProblem{{Port: 80}} }) }, "a 4"},
		{"a finds that another machine has the address", func() { put("a", func(h *spec.Host) { h.VirtualIPs[0].Problem = "in use" }) }, "b 5"},
		{"b is lost", func() { do(raftfsm.MarkHostLost{ID: "b", At: time.Unix(1, 0)}) }, " 6"},
		{"nobody can have it", func() {}, " 6"},
		{"a can again", func() { put("a", nil) }, "a 7"},
		{"a offers it no more", func() { put("a", func(h *spec.Host) { h.VirtualIPs = nil }) }, " 8"},
	} {
		step.do()
		if err := r.Reconcile(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		a := virtualip.Find(p.State().View(), ip)
		if got := fmt.Sprint(a.Holder, " ", a.Epoch); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}

// A host that comes back gets some of the addresses that the other one has meanwhile, one a minute, each when the lease of the other has ended: then
// nothing moves.
func TestVirtualIPsGoBackToAHostWithFewer(t *testing.T) {
	p := &memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	leases := &fakeLeases{ended: true, silent: map[string]bool{}, revoked: map[string]bool{}}
	r := &VirtualIPs{Proposer: p, Leases: leases, Log: slog.New(slog.DiscardHandler), assigner: "mine"}
	host := func(id string, lacks ...traffic.ListenerProblem) {
		h := spec.Host{ID: id, Name: id, ListenerProblems: lacks}
		for i := range iplease.MaxOffers {
			h.VirtualIPs = append(h.VirtualIPs, iplease.Offer{IP: fmt.Sprint("10.0.0.10", i), Bits: 24})
		}
		p.do(t, raftfsm.PutHost{Host: h})
	}
	p.do(t, raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	p.do(t, raftfsm.Wrap(virtualip.BecomeAssigner{Token: "mine"}))
	host("a")
	after := func(wait time.Duration) (holds string) {
		p.now = p.now.Add(wait)
		if err := r.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, a := range virtualip.All(p.State().View()) {
			holds += a.Holder
		}
		return holds
	}
	for _, step := range []struct {
		name string
		do   func()
		wait time.Duration
		want string
	}{
		{"one host has them all", func() {}, 0, "aaaa"},
		{"the other one lacks a listener", func() { host("b", traffic.ListenerProblem{Port: 80}) }, time.Hour, "aaaa"},
		{"it serves, and a lease of the first is in force", func() { leases.ended = false; host("b") }, time.Second, "aaaa"},
		{"the lease has ended", func() { leases.ended = true }, time.Second, "baaa"},
		{"the next one has to wait", func() {}, time.Second, "baaa"},
		{"a minute later", func() {}, time.Minute, "bbaa"},
		{"they are even", func() {}, time.Hour, "bbaa"},
	} {
		if step.do(); after(step.wait) != step.want {
			t.Errorf("%s: not %s: %+v", step.name, step.want, virtualip.All(p.State().View()))
		}
	}
}
