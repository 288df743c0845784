package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// clone is a host that has a copy of another one's data directory.
func (p *pool) clone(of *testHost) *testHost {
	p.t.Helper()
	h := p.host(nil)
	copyDir(p.t, of.dir, h.dir)
	h.cfg.HostID, h.cfg.PoolID, h.cfg.Name = of.cfg.HostID, of.cfg.PoolID, of.cfg.Name
	return h
}

// waitRefused waits until the process of a host ends, because another one is that host.
func (h *testHost) waitRefused(says string) {
	h.pool.t.Helper()
	var err error
	eventually(h.pool.t, "the host is refused", func() bool {
		select {
		case err = <-h.member.Fatal():
			return true
		default:
			return false
		}
	})
	if !errors.Is(err, spec.ErrHostElsewhere) || !strings.Contains(err.Error(), says) {
		h.pool.t.Errorf("it ends saying %v, not %q", err, says)
	}
	h.close()
}

func TestACopyOfAHostThatRunsIsTurnedAway(t *testing.T) {
	p := newPool(t)
	var c clock
	p.now = func() time.Time { return time.Now().Add(time.Duration(c.passed.Load())) }
	// A machine that stands still for some seconds would make the host silent, and let the copy in.
	p.found(func(c *MemberConfig) { c.DisconnectedAfter = 2 * time.Minute })
	original := p.join(1)[0]
	task := p.run(original)
	eventually(t, "the task runs", func() bool { return p.view().Task(task.ID).LastStatus == spec.Running })

	clone := p.clone(original)
	p.start(clone)
	clone.waitRefused("the host runs at " + original.where)
	if clone.agent.runs(task.ID) || !original.agent.runs(task.ID) || len(original.agent.disowned) > 0 {
		t.Error("the task is not where it was")
	}
	if host, known := p.view().Host(original.cfg.HostID), p.view().Task(task.ID); host.Address != original.where || known.LastStatus != spec.Running {
		t.Errorf("the host is at %s, its task is %s", host.Address, known.LastStatus)
	}

	original.close()
	eventually(t, "its session is over", func() bool { return p.hosts[0].member.localServer().agents.Sessions() == 0 })
	c.pass(3 * time.Minute)
	p.start(clone)
	eventually(t, "who has taken the place of a host that is gone is let in", func() bool { return p.view().Host(original.cfg.HostID).Address == clone.where })
	p.start(original)
	original.waitRefused("the host runs at " + clone.where)
}

// A process that is started again on the data directory is the host, also while the one before still counts as alive.
func TestAHostThatIsStartedAgainAtOnceIsLetIn(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	h := p.join(1)[0]
	eventually(t, "it is known", func() bool { return p.view().Host(h.cfg.HostID) != nil })
	for range 3 {
		h.close()
		p.start(h)
		eventually(t, "it is back at the first try", func() bool {
			if len(h.agent.refusals()) > 0 {
				t.Fatalf("it was refused: %v", h.agent.refusals())
			}
			return h.member.upstream.Connected()
		})
	}
}

// Three servers, of which one goes back to an older copy of all it had, as a virtual machine does to a snapshot: its vote would
// help a leader that has not everything that was acknowledged.
func TestAServerThatWentBackToAnOlderStartIsNotHeard(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	old, away := p.followers()[0], p.followers()[1]
	restart := func(starts int64) {
		t.Helper()
		old.close()
		old.cfg.Starts, old.agent.host.Starts = starts, starts
		p.start(old)
	}
	restart(5)
	eventually(t, "its start is known everywhere", func() bool {
		for _, h := range p.hosts {
			if h.member == nil || h.member.localServer() == nil {
				return false
			}
			if known := h.member.localServer().state.View().Host(old.cfg.HostID); known == nil || known.Starts != 5 {
				return false
			}
		}
		return true
	})
	leader := p.leader()
	if leader == away {
		away = p.followers()[0]
		if away == old {
			away = p.followers()[1]
		}
	}
	restart(4)
	old.waitRefused("was started 5 times and this one says 4")

	away.close()
	p.start(old)
	eventually(t, "the leader has no other server that hears it", func() bool { return !leader.member.localServer().Leads() })
	if address, _ := old.member.localServer().Leader(); address != "" {
		t.Errorf("the older copy follows %s", address)
	}
	p.start(away)
	p.leader()
}
