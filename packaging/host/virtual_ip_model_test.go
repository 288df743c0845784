package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"pinion/node/virtualip"
	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/spec"
	assigned "pinion/raftfsm/virtualip"
	"pinion/server/liveness"
	"pinion/server/orchestrator"
)

const (
	modelHosts = 3 // each a server, and each offers the address
	modelIP    = "10.0.0.100"
	modelTime  = 10 * time.Minute
	// kernelDelay is how late the kernel removes an address at most.
	kernelDelay = 1250 * time.Millisecond
)

var errModel = errors.New("nobody answers")

// ipModel is a pool in simulated time: the real keepers of hosts, the real leases and the real reconciler, on a log, elections and links that
// are simulated. A server may believe that it leads long after another was elected.
type ipModel struct {
	random   *rand.Rand
	unsafe   unsafeLeader
	mu       sync.Mutex
	log      []raftfsm.Command // what is committed
	term     uint64
	leader   *modelServer
	over     chan struct{} // closed when that leader hears that it is none any more
	servers  [modelHosts]*modelServer
	hosts    [modelHosts]*modelHost
	calm     bool // no message is late or lost
	stable   bool // elections are rare, so that a leader has the time to move addresses to hosts with fewer
	moves    int  // how often a host has taken the address
	overlaps []string
}

// unsafeLeader is what a leader leaves out, for negative controls.
type unsafeLeader struct{ lease, check, assigner bool }

// modelServer is a server. Its state is that of the log up to applied.
type modelServer struct {
	m        *ipModel
	state    *raftfsm.State
	applied  int
	term     uint64                 // as it knows
	believes bool                   // that it leads
	cut      map[string]bool        // hosts that do not reach it
	elected  chan (<-chan struct{}) // gets what is closed when it is deposed
	leases   *liveness.VirtualIPs
}

// modelHost is a machine with what its kernel has of the address.
type modelHost struct {
	m      *ipModel
	id     string
	starts int64
	gone   time.Time // the kernel removes the address then; zero: it has it not
	kill   func()    // its process, nil: none runs
}

// modelProcess is a process of a host. A killed one does nothing more, but what it has sent may still arrive.
type modelProcess struct {
	host *modelHost
	dead bool
}

func (m *ipModel) chance(n int) bool { return m.random.IntN(n) == 0 }

func (m *ipModel) duration(most time.Duration) time.Duration {
	return time.Duration(m.random.Int64N(int64(most)))
}

// locked runs f while nothing else happens.
func (m *ipModel) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// late is how long a message is on its way: mostly not long.
func (m *ipModel) late() (d time.Duration) {
	m.locked(func() {
		switch d = m.duration(20 * time.Millisecond); {
		case m.calm:
		case m.chance(20):
			d = m.duration(8 * time.Second)
		}
	})
	return d
}

// leads reports whether the other voters would say that a server leads; m.mu is held.
func (s *modelServer) leads() bool { return s.m.leader == s && s.m.term == s.term }

func (s *modelServer) State() *raftfsm.State { return s.state }
func (s *modelServer) Now() time.Time        { return time.Now() }

func (s *modelServer) CurrentTerm() (term uint64) {
	s.m.locked(func() { term = s.term })
	return term
}

func (s *modelServer) CheckLeader(context.Context) (err error) {
	time.Sleep(s.m.late())
	s.m.locked(func() {
		if !s.leads() && !s.m.unsafe.check {
			err = spec.ErrNotLeader
		}
	})
	return err
}

// catchUp applies what is committed, and returns the refusal of the last entry; m.mu is held.
func (s *modelServer) catchUp() (err error) {
	for ; s.applied < len(s.m.log); s.applied++ {
		_, err = s.state.Apply(uint64(s.applied+1), s.m.log[s.applied])
	}
	return err
}

// Propose commits what a leader proposes. Whether it was may remain unknown.
func (s *modelServer) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	time.Sleep(s.m.late())
	if s.m.unsafe.assigner {
		c = withoutAssigner(c)
	}
	var err error
	s.m.locked(func() {
		if !s.leads() {
			err = spec.ErrNotLeader
			return
		}
		s.m.log = append(s.m.log, c)
		if err = s.catchUp(); err == nil && !s.m.calm && s.m.chance(10) {
			err = spec.ErrOutcomeUnknown
		}
	})
	return nil, err
}

// withoutAssigner is a command of a leader that does not say which.
func withoutAssigner(c raftfsm.Command) raftfsm.Command {
	switch c := c.(type) {
	case raftfsm.Wrapped[assigned.Assign]:
		c.Command.Token = ""
		return c
	case raftfsm.Wrapped[assigned.BecomeAssigner]:
		c.Command.Token = ""
		return c
	}
	return c
}

// run leads one term after the other.
func (s *modelServer) run(ctx context.Context) {
	for {
		var over <-chan struct{}
		select {
		case <-ctx.Done():
			return
		case over = <-s.elected:
		}
		s.m.locked(func() { s.believes = true })
		term, end := context.WithCancel(ctx)
		var loop sync.WaitGroup
		loop.Go(func() {
			r := orchestrator.VirtualIPs{Proposer: s, Leases: s.reconcilerLeases(), Log: slog.New(slog.DiscardHandler)}
			r.Loop(term)
		})
		select {
		case <-over:
		case <-ctx.Done():
		}
		s.m.locked(func() { s.believes = false })
		end()
		loop.Wait()
	}
}

// reconcilerLeases are the leases, or ones that are over at once.
func (s *modelServer) reconcilerLeases() orchestrator.Leases {
	if s.m.unsafe.lease {
		return hastyLeases{s.leases}
	}
	return s.leases
}

type hastyLeases struct{ *liveness.VirtualIPs }

func (l hastyLeases) End(ip string, epoch int64) bool {
	l.VirtualIPs.End(ip, epoch)
	return true
}

// elect makes a server the leader. The one before hears of it later, or not at all for a while.
func (m *ipModel) elect(s *modelServer) {
	if before := m.over; before != nil {
		time.AfterFunc(m.duration(20*time.Second), func() { close(before) })
	}
	m.term++
	m.leader, s.term, m.over = s, m.term, make(chan struct{})
	s.elected <- m.over
}

// AskVirtualIP takes a question to a server that may lead, or believes it. An answer may come too late, as may the question.
func (p *modelProcess) AskVirtualIP(ctx context.Context, hostID string, r iplease.Request) (iplease.Answer, error) {
	m, got := p.host.m, make(chan iplease.Answer, 1)
	there, back := m.late(), m.late()
	var to *modelServer
	m.locked(func() {
		for _, s := range m.servers {
			if s.believes && !p.dead && !s.cut[hostID] && (to == nil || m.chance(2)) {
				to = s
			}
		}
	})
	if to == nil {
		return iplease.Answer{}, errModel
	}
	go func() {
		time.Sleep(there)
		if answer, err := to.leases.Renew(context.Background(), hostID, r); err == nil {
			time.Sleep(back)
			got <- answer
		}
	}()
	select {
	case answer := <-got:
		return answer, nil
	case <-ctx.Done():
		return iplease.Answer{}, errModel
	}
}

// otherAddress is one of those that a host offers beside the address of the model: which host has more decides whether that one moves.
type otherAddress struct{}

func (otherAddress) Check(context.Context) error               { return nil }
func (otherAddress) Take(context.Context, time.Duration) error { return nil }
func (otherAddress) Extend(time.Duration) error                { return nil }
func (otherAddress) Announce() error                           { return nil }
func (otherAddress) Remove() error                             { return nil }

// device is what a process does to an address.
func (p *modelProcess) device(v iplease.Offer) virtualip.Device {
	if v.IP == modelIP {
		return p
	}
	return otherAddress{}
}

func (p *modelProcess) Check(context.Context) error { return nil }
func (p *modelProcess) Announce() error             { return nil }

func (p *modelProcess) Take(_ context.Context, lifetime time.Duration) error {
	p.host.m.locked(func() { p.host.m.moves++ })
	return p.Extend(lifetime)
}

// Extend notes when another host has the address, too.
func (p *modelProcess) Extend(lifetime time.Duration) error {
	m, now := p.host.m, time.Now()
	m.locked(func() {
		if p.dead {
			return
		}
		p.host.gone = now.Add(lifetime.Truncate(time.Second)).Add(m.duration(kernelDelay))
		for _, other := range m.hosts {
			if other != p.host && now.Before(other.gone) {
				m.overlaps = append(m.overlaps, fmt.Sprintf("%s: %s has the address for %s more, and %s takes it", now.Format(time.TimeOnly), other.id, other.gone.Sub(now), p.host.id))
			}
		}
	})
	return nil
}

func (p *modelProcess) Remove() error {
	p.host.m.locked(func() {
		if !p.dead {
			p.host.gone = time.Time{}
		}
	})
	return nil
}
