package liveness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/virtualip"
)

// Leader is what VirtualIPs needs of its server, which may lead.
type Leader interface {
	State() *raftfsm.State
	Now() time.Time
	// CurrentTerm is Raft's.
	CurrentTerm() uint64
	// Propose records a command; the state has it then, and every entry before.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// CheckLeader returns nil when the other voters have said since it was called that this server leads.
	CheckLeader(ctx context.Context) error
}

// VirtualIPs are the leases of virtual IPs: until when a host may have one. They are the leader's memory. Never are two hosts' leases of an
// address in force at once:
//
//   - A lease lasts iplease.Duration from when its host has asked, by the host's clock, and at least as long by the leader's, which hears it later.
//   - The leader grants one only to the host that the state names, of the epoch that it names, and only when the other voters say after the
//     host has asked that this server still leads. So an earlier leader grants nothing that ends later than iplease.Duration after the term began.
//   - The state names another host only when the leases of the epoch before have ended (End): this leader grants none of it any more, and the last one
//     has run out with a margin, or the host has released the address. No leader before can have another host named: see virtualip.Lead.
//
// It is safe for concurrent use.
type VirtualIPs struct {
	leader Leader

	mu   sync.Mutex
	term *leaseTerm // nil while this server may not grant leases
}

// leaseTerm is what is known in one leader term.
type leaseTerm struct {
	number uint64 // Raft's
	began  time.Time
	leases map[string]*lease               // by address
	asked  map[string]map[string]time.Time // by host and address: when it has asked last
}

// lease is the lease of one epoch of an address.
type lease struct {
	epoch    int64
	until    time.Time // by this leader's clock; zero: it was never granted
	revoked  bool      // it is not granted any more
	released bool      // its host has given the address up
	held     bool      // its host said last that it has the address
}

// NewVirtualIPs returns the leases of a server.
func NewVirtualIPs(leader Leader) *VirtualIPs { return &VirtualIPs{leader: leader} }

// StartTerm begins to grant leases, as the assigner with that token. Those of the leader before may be in force for iplease.Duration from now on
// at most. When Raft's term is another one already, none is granted until the next StartTerm.
func (v *VirtualIPs) StartTerm(ctx context.Context, token string) error {
	term := &leaseTerm{number: v.leader.CurrentTerm(), leases: map[string]*lease{}, asked: map[string]map[string]time.Time{}}
	if _, err := v.leader.Propose(ctx, raftfsm.Wrap(virtualip.BecomeAssigner{Token: token})); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	term.began = v.leader.Now()
	for _, a := range virtualip.All(v.leader.State().View()) {
		term.leases[a.IP] = &lease{epoch: a.Epoch, until: term.began.Add(iplease.Duration)}
	}
	v.term = term
	return nil
}

// EndTerm ends what StartTerm began.
func (v *VirtualIPs) EndTerm() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.term = nil
}

// Renew takes what a host asks, and answers whether it holds the address. spec.ErrNotFound for a process that the pool does not know as the host.
func (v *VirtualIPs) Renew(ctx context.Context, hostID string, r iplease.Request) (iplease.Answer, error) {
	term, answer, err := v.extend(hostID, r)
	if err != nil || answer.Epoch == 0 {
		return answer, err
	}
	if err := v.leader.CheckLeader(ctx); err != nil {
		return iplease.Answer{}, err
	}
	if v.leader.CurrentTerm() != term.number { // a leader in between may have assigned the address to another host
		return iplease.Answer{}, spec.ErrNotLeader
	}
	return answer, nil
}

// extend notes the lease that the host may get, before anybody can know that it gets it. It reads the state under the lock: what an earlier
// process of the host has released counts no more once a later one has joined.
func (v *VirtualIPs) extend(hostID string, r iplease.Request) (term *leaseTerm, answer iplease.Answer, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.term == nil {
		return nil, answer, spec.ErrNotLeader
	}
	view, now := v.leader.State().View(), v.leader.Now()
	host := view.Host(hostID)
	if host == nil || host.Lost() || host.Starts != r.Starts {
		return nil, answer, fmt.Errorf("host %s, started %d times: %w", hostID, r.Starts, spec.ErrNotFound)
	}
	if host.VirtualIP(r.IP) == nil {
		return v.term, answer, nil
	}
	v.term.heard(hostID, r.IP, now)
	a := virtualip.Find(view, r.IP)
	if a == nil {
		return v.term, answer, nil
	}
	l := v.term.lease(a.IP, a.Epoch)
	if a.Holder != hostID {
		return v.term, iplease.Answer{Elsewhere: l.held}, nil
	}
	l.held = r.Held == a.Epoch
	if r.Released == a.Epoch && !l.released {
		l.released, l.revoked = true, true
		v.term.asked[hostID][r.IP] = time.Time{} // it may have said that as its last word: it does not hold the address before it asks again
	}
	if l.epoch != a.Epoch || l.revoked {
		return v.term, answer, nil
	}
	if until := now.Add(iplease.Duration); until.After(l.until) {
		l.until = until
	}
	return v.term, iplease.Answer{Epoch: a.Epoch}, nil
}

func (t *leaseTerm) heard(hostID, ip string, now time.Time) {
	if t.asked[hostID] == nil {
		t.asked[hostID] = map[string]time.Time{}
	}
	t.asked[hostID][ip] = now
}

// lease is the lease of an epoch of an address, or of a later one. One that StartTerm did not find was assigned in this term, so nobody has
// been granted it.
func (t *leaseTerm) lease(ip string, epoch int64) *lease {
	if known := t.leases[ip]; known == nil || known.epoch < epoch {
		t.leases[ip] = &lease{epoch: epoch}
	}
	return t.leases[ip]
}

// Revoked reports whether no lease of an epoch is granted any more.
func (v *VirtualIPs) Revoked(ip string, epoch int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.term != nil && v.term.lease(ip, epoch).revoked
}

// End ends the granting of leases of an epoch, for good, and reports whether none is in force. Epoch 0 is an address that the state does not
// have, but which the state of an earlier pool may have had.
func (v *VirtualIPs) End(ip string, epoch int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.term == nil {
		return false
	}
	now := v.leader.Now()
	if epoch == 0 {
		return !now.Before(v.term.began.Add(iplease.Duration + iplease.Margin))
	}
	l := v.term.lease(ip, epoch)
	l.revoked = true
	return l.released || !now.Before(l.until.Add(iplease.Margin))
}

// Asks reports whether a host has asked for an address within the time of a lease, as one does several times a second that can hold it. A new
// leader has heard of none, and counts all for as long.
func (v *VirtualIPs) Asks(hostID, ip string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.term == nil {
		return false
	}
	last, asked := v.term.asked[hostID][ip]
	if !asked {
		last = v.term.began
	}
	return v.leader.Now().Sub(last) < iplease.Duration
}
