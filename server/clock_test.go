package server

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"pinion/raftfsm/spec"
	"pinion/server/pki"
)

// The clock of a host is off, be it an agent's or a server's: the leader tells by how much, until it is right again.
func TestAClockThatIsOffIsSaidWithItsAmount(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	off := p.followers()[0]
	token := p.joinToken()
	agent := p.host(func(c *MemberConfig) { c.Join, c.JoinToken = p.leader().where, token })
	p.start(agent)
	for _, c := range []struct {
		name  string
		host  *testHost
		shift time.Duration
	}{{"an agent behind", agent, -48 * time.Hour}, {"an agent ahead", agent, time.Hour}, {"a server ahead", off, 2 * time.Hour}, {"a server behind", off, -72 * time.Hour}} {
		for _, shift := range []time.Duration{c.shift, 0} {
			c.host.close()
			c.host.cfg.Now = func() time.Time { return time.Now().Add(shift) }
			p.start(c.host)
			eventually(t, c.name, func() bool {
				admin := p.leader().member.Hosts
				for _, h := range p.hosts {
					if got := admin.ClockOffset(h.cfg.HostID); h != c.host && got != 0 {
						t.Fatalf("%s: host %d is said to be off by %v", c.name, h.n, got)
					}
				}
				got := admin.ClockOffset(c.host.cfg.HostID)
				return (got-shift).Abs() < 5*time.Second && (got == 0) == (shift == 0)
			})
		}
	}
}

// A host of a pool starts with a clock that is off by more than its certificate lives: the certificate is not what is wrong.
func TestAHostThatStartsWithItsClockOffIsToldByHowMuch(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	agent := p.join(1)[0]
	eventually(t, "the host is known", func() bool { return p.view().Host(agent.cfg.HostID) != nil })
	agent.close()
	agent.cfg.Join, agent.cfg.JoinToken = "", ""
	right := p.now
	amount := regexp.MustCompile(`the clock of this machine is (\S+) (behind|ahead of) the one of the server at ` + regexp.QuoteMeta(p.hosts[0].where))
	for shift, side := range map[time.Duration]string{-48 * time.Hour: "behind", 100 * 24 * time.Hour: "ahead of"} {
		p.now = func() time.Time { return time.Now().Add(shift) }
		agent.cfg.Now = p.now
		err := agent.start()
		if err == nil || errors.Is(err, pki.ErrNoCertificate) {
			t.Errorf("off by %v: %v", shift, err)
			continue
		}
		said := amount.FindStringSubmatch(err.Error())
		if said == nil || said[2] != side {
			t.Errorf("off by %v: %v", shift, err)
			continue
		}
		if off, err := time.ParseDuration(said[1]); err != nil || (off-shift.Abs()).Abs() > time.Minute {
			t.Errorf("off by %v, said is %s, %v", shift, said[1], err)
		}
	}
	p.now, agent.cfg.Now = right, right
	p.start(agent)
}

// wallClock is a machine's clock that somebody sets: what it shows jumps, and what Go counts beside it, as the kernel does, goes on.
type wallClock struct{ off atomic.Int64 } // seconds

// now is time.Now by this clock. A time holds the seconds shown above 30 bits of nanoseconds in its first word, and in the second
// what the kernel counts, which no method of a time can shift apart from each other.
func (c *wallClock) now() time.Time {
	now := time.Now()
	*(*uint64)(unsafe.Pointer(&now)) += uint64(c.off.Load()) << 30
	return now
}

func TestASetClockMovesWhatItShowsAndNotWhatItCounts(t *testing.T) {
	var c wallClock
	for _, d := range []time.Duration{10 * time.Minute, -24 * time.Hour} {
		c.off.Store(0)
		before, right := c.now(), time.Now()
		c.off.Store(int64(d.Seconds()))
		after := c.now()
		if counted := after.Sub(before); counted < 0 || counted > time.Minute {
			t.Errorf("set by %v it counts %v", d, counted)
		}
		if shown := after.Round(0).Sub(right.Round(0)); (shown - d).Abs() > time.Minute {
			t.Errorf("set by %v it shows %v", d, shown)
		}
	}
}

// The clock of a live leader, follower or agent is set forward or back: nobody else leads, no host is given up, no task ends, and the
// pool tells by how much it is off.
func TestAClockThatIsSetOnALiveHostChangesNothing(t *testing.T) {
	p := newPool(t)
	clocks := map[*testHost]*wallClock{}
	with := func(change func(*MemberConfig)) *testHost {
		c := &wallClock{}
		h := p.host(func(cfg *MemberConfig) { cfg.Now = c.now; change(cfg) })
		h.clock, clocks[h] = c.now, c
		p.start(h)
		return h
	}
	with(func(*MemberConfig) {})
	token := p.joinToken()
	join := func(c *MemberConfig) { c.Join, c.JoinToken = p.hosts[0].where, token }
	for range 3 {
		with(join)
	}
	p.waitForVoters(3)
	leader := p.leader()
	agent := slices.DeleteFunc(slices.Clone(p.hosts), func(h *testHost) bool { return h.member.localServer() != nil })[0]
	task := p.run(agent)
	eventually(t, "the task runs", func() bool { return agent.agent.runs(task.ID) && p.view().Task(task.ID).LastStatus == spec.Running })
	term, _ := leader.member.localServer().node.RequireLeader()
	for who, h := range map[string]*testHost{"the leader": leader, "a server": p.followers()[0], "an agent": agent} {
		for _, shift := range []time.Duration{10 * time.Minute, -10 * time.Minute, 24 * time.Hour, -24 * time.Hour, 0} {
			clocks[h].off.Store(int64(shift.Seconds()))
			name := fmt.Sprintf("%s, set by %v", who, shift)
			eventually(t, name, func() bool {
				off := leader.member.Hosts.ClockOffset(agent.cfg.HostID)
				if h != leader {
					off = leader.member.Hosts.ClockOffset(h.cfg.HostID)
				} else {
					off = -off
				}
				return (off - shift).Abs() < 5*time.Second
			})
			if term.Err() != nil || p.leader() != leader {
				t.Fatalf("%s: another term has begun", name)
			}
			for _, other := range p.hosts {
				if !leader.member.Connected(other.cfg.HostID) || p.view().Host(other.cfg.HostID).Lost() {
					t.Errorf("%s: host %d is given up", name, other.n)
				}
			}
			if shift.Abs() == 24*time.Hour {
				next := p.run(agent)
				eventually(t, name+", a task is run", func() bool { return agent.agent.runs(next.ID) })
			}
			if !agent.agent.runs(task.ID) || p.view().Task(task.ID).LastStatus != spec.Running {
				t.Errorf("%s: the task is over: %+v", name, p.view().Task(task.ID))
			}
		}
	}
	p.checkAgreement()
}
