package liveness

import (
	"context"
	"errors"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/virtualip"
)

const testIP = "10.0.0.100"

// leasedPool is a leader with two hosts that offer an address, which the first is assigned.
type leasedPool struct {
	*recordedPool
	t       *testing.T
	term    uint64
	deposed bool
	leases  *VirtualIPs
}

func (p *leasedPool) CurrentTerm() uint64 { return p.term }

func (p *leasedPool) CheckLeader(context.Context) error {
	if p.deposed {
		return spec.ErrNotLeader
	}
	return nil
}

func newLeasedPool(t *testing.T) *leasedPool {
	t.Helper()
	p := &leasedPool{recordedPool: newRecordedPool(t, 2), t: t, term: 1}
	p.leases = NewVirtualIPs(p)
	for i := range 2 {
		p.do(raftfsm.PutHost{Host: spec.Host{ID: hostID(i), Name: hostID(i), Starts: 1, VirtualIPs: []iplease.Offer{{IP: testIP, Bits: 24}}}})
	}
	p.startTerm()
	p.assign(0, 1)
	return p
}

func (p *leasedPool) do(c raftfsm.Command) {
	p.t.Helper()
	if _, err := p.Propose(p.t.Context(), c); err != nil {
		p.t.Fatal(err)
	}
}

func (p *leasedPool) startTerm() {
	p.t.Helper()
	if err := p.leases.StartTerm(p.t.Context(), "token"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *leasedPool) assign(host int, epoch int64) {
	p.t.Helper()
	p.do(raftfsm.Wrap(virtualip.Assign{IP: testIP, Holder: hostID(host), Epoch: epoch, Token: "token"}))
}

// ask is what a host is answered; an error is epoch -1.
func (p *leasedPool) ask(host int, r iplease.Request) int64 {
	r.IP = testIP
	if r.Starts == 0 {
		r.Starts = 1
	}
	answer, err := p.leases.Renew(p.t.Context(), hostID(host), r)
	if err != nil {
		return -1
	}
	return answer.Epoch
}

func (p *leasedPool) want(what string, got, want any) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestALeaseIsWaitedForUntilItHasSurelyEnded(t *testing.T) {
	p := newLeasedPool(t)
	p.want("the holder", p.ask(0, iplease.Request{}), int64(1))
	p.want("the other host", p.ask(1, iplease.Request{}), int64(0))
	p.now = p.now.Add(time.Second)
	p.want("the holder later", p.ask(0, iplease.Request{Held: 1}), int64(1))
	p.want("revoked", p.leases.Revoked(testIP, 1), false)
	p.want("the end", p.leases.End(testIP, 1), false)
	p.want("the holder when its lease is not renewed any more", p.ask(0, iplease.Request{Held: 1}), int64(0))
	p.now = p.now.Add(iplease.Duration + iplease.Margin - 1)
	p.want("the end, a moment before", p.leases.End(testIP, 1), false)
	p.now = p.now.Add(1)
	p.want("the end", p.leases.End(testIP, 1), true)
	p.assign(1, 2)
	p.want("the holder before", p.ask(0, iplease.Request{}), int64(0))
	p.want("the next holder", p.ask(1, iplease.Request{}), int64(2))
}

func TestALeaseEndsWhenItsHostReleasesTheAddress(t *testing.T) {
	p := newLeasedPool(t)
	p.ask(0, iplease.Request{})
	p.want("the end", p.leases.End(testIP, 1), false)
	p.want("asks", p.leases.Asks(hostID(0), testIP), true)
	p.ask(0, iplease.Request{Released: 1})
	p.want("the end", p.leases.End(testIP, 1), true)
	p.want("a host asks that may have left", p.leases.Asks(hostID(0), testIP), false)
	p.ask(0, iplease.Request{Released: 1})
	p.want("it asks again", p.leases.Asks(hostID(0), testIP), true)
}

// What a process said before it was killed may arrive late: then another one may hold the address.
func TestAProcessReleasesNothingOfALaterOne(t *testing.T) {
	p := newLeasedPool(t)
	p.do(raftfsm.PutHost{Host: spec.Host{ID: hostID(0), Name: hostID(0), Starts: 2, VirtualIPs: []iplease.Offer{{IP: testIP, Bits: 24}}}})
	p.want("the process of now", p.ask(0, iplease.Request{Starts: 2}), int64(1))
	p.want("the one before", p.ask(0, iplease.Request{Starts: 1, Released: 1}), int64(-1))
	p.want("the end", p.leases.End(testIP, 1), false)
}

// A leader does not know what the one before has granted.
func TestALeaderWaitsForTheLeasesOfTheOneBefore(t *testing.T) {
	p := newLeasedPool(t)
	p.term++
	p.startTerm()
	p.want("the end", p.leases.End(testIP, 1), false)
	p.want("of an address that only an earlier pool may have assigned", p.leases.End("10.0.0.101", 0), false)
	p.now = p.now.Add(iplease.Duration + iplease.Margin)
	p.want("the end", p.leases.End(testIP, 1), true)
	p.want("of the other", p.leases.End("10.0.0.101", 0), true)
}

func TestOnlyTheLeaderOfNowGrantsLeases(t *testing.T) {
	p := newLeasedPool(t)
	p.deposed = true
	p.want("the voters know of another leader", p.ask(0, iplease.Request{}), int64(-1))
	p.deposed, p.term = false, 3
	p.want("another one led meanwhile", p.ask(0, iplease.Request{}), int64(-1))
	p.leases.EndTerm()
	_, err := p.leases.Renew(t.Context(), hostID(0), iplease.Request{IP: testIP, Starts: 1})
	p.want("the term is over", errors.Is(err, spec.ErrNotLeader), true)
}

// An agent cannot have an address that it was not given, whatever it says.
func TestAHostHoldsNoVirtualIPThatItWasNotGiven(t *testing.T) {
	p := newLeasedPool(t)
	p.ask(0, iplease.Request{})
	p.want("it says that it has it", p.ask(1, iplease.Request{Held: 1}), int64(0))
	p.ask(1, iplease.Request{Released: 1})
	p.want("it releases what another one has", p.leases.End(testIP, 1), false)
	p.do(raftfsm.PutHost{Host: spec.Host{ID: hostID(0), Name: hostID(0), Starts: 1}})
	p.want("it offers the address no more", p.ask(0, iplease.Request{}), int64(0))
}
