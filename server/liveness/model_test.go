package liveness

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The pool of this test is hosts that beat and three servers that remember and tell each other, in simulated time. It
// holds the constants of the real ones against each other: whatever ends with or without the leader, no host that lives
// counts as disconnected, and one that does not is seen in time.
func TestNoHostThatLivesIsLostAndOneThatIsGoneIsSeenInTime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for pass := range 300 {
		s := newModel(random)
		for s.passed < 40*time.Second {
			s.step()
			for _, h := range s.hosts {
				connected := s.leader >= 0 && s.servers[s.leader].silence(h.id, s.now()) < s.lease
				switch gone := s.passed - h.gone; {
				case s.leader < 0:
				case !h.dead && !connected:
					t.Fatalf("round %d, %v: %s lives and counts as disconnected\n%s", pass, s.passed, h.id, s.story)
				case h.dead && connected && gone > 5*time.Second && h.gone > s.granted:
					t.Fatalf("round %d: %s is gone for %v and counts as connected\n%s", pass, h.id, gone, s.story)
				}
			}
		}
	}
}

// day0 is when the tests begin.
var day0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const modelStep = 50 * time.Millisecond

type heartbeatModel struct {
	*rand.Rand
	lease   time.Duration
	passed  time.Duration
	servers [3]*table
	up      [3]bool
	told    [3]time.Time
	leader  int           // -1 while there is none
	contact time.Duration // when the leader before was last heard of
	elected time.Duration // when the next one leads
	granted time.Duration // when the lease began that this leader granted
	hosts   []*modelHost
	story   string
}

type modelHost struct {
	id     string
	phase  time.Duration // of its beats
	server int
	lost   time.Duration // since when its server is gone
	dead   bool
	gone   time.Duration
}

func newModel(random *rand.Rand) *heartbeatModel {
	s := &heartbeatModel{Rand: random, lease: 4 * time.Second, up: [3]bool{true, true, true}}
	for i := range s.servers {
		s.servers[i] = new(table)
	}
	for i := range 6 {
		s.hosts = append(s.hosts, &modelHost{id: fmt.Sprint("host-", i), phase: s.randomUpTo(time.Second), server: i % 3, gone: -1})
	}
	s.servers[0].startTerm(s.now(), time.Hour, 0)
	return s
}

func (s *heartbeatModel) now() time.Time { return day0.Add(s.passed) }

func (s *heartbeatModel) randomUpTo(d time.Duration) time.Duration {
	return time.Duration(s.Int64N(int64(d/modelStep))) * modelStep
}

func (s *heartbeatModel) logf(format string, args ...any) {
	s.story += fmt.Sprintf("%8v ", s.passed) + fmt.Sprintf(format, args...) + "\n"
}

// step is what happens in one moment: something may end, and everybody does what is due.
func (s *heartbeatModel) step() {
	s.passed += modelStep
	switch s.IntN(400) {
	case 0:
		s.stopServer(s.IntN(3))
	case 1:
		if h := s.hosts[s.IntN(len(s.hosts))]; !h.dead {
			h.dead, h.gone = true, s.passed
			s.logf("%s ends", h.id)
		}
	}
	s.elect()
	for _, h := range s.hosts {
		s.beat(h)
	}
	for i := range s.servers {
		if i != s.leader && s.up[i] && s.leader >= 0 && (s.passed+time.Duration(i)*100*time.Millisecond)%forwardInterval == 0 {
			a := s.servers[i].since(s.told[i], s.now())
			for at, host := range a.Hosts {
				s.servers[s.leader].record(host, s.now().Add(-time.Duration(a.Ages[at])*time.Millisecond))
			}
			s.told[i] = s.now()
		}
	}
}

// stopServer takes a server away while two others are there, and brings back one that was away.
func (s *heartbeatModel) stopServer(server int) {
	for i := range s.up {
		if !s.up[i] {
			s.up[i], s.servers[i], s.told[i] = true, new(table), time.Time{}
			s.logf("server %d is back", i)
			return
		}
	}
	if s.leader < 0 {
		return
	}
	s.up[server] = false
	s.logf("server %d ends, %d leads", server, s.leader)
	for _, h := range s.hosts {
		if h.server == server && h.lost == 0 {
			h.lost = s.passed
		}
	}
	if server == s.leader { // the others have heard of it a moment ago, and take up to an election's time
		s.contact = s.passed - min(s.randomUpTo(100*time.Millisecond), s.passed)
		s.leader, s.elected = -1, s.passed+s.randomUpTo(3*time.Second)
	}
}

func (s *heartbeatModel) elect() {
	for s.leader < 0 && s.passed >= s.elected {
		if next := s.IntN(3); s.up[next] {
			s.leader, s.granted = next, s.passed
			if s.passed-s.contact < fastFailover {
				s.granted = s.contact
			}
			s.servers[next].startTerm(s.now(), s.passed-s.contact, s.lease*11/20)
			s.logf("server %d leads, the one before was heard of until %v", next, s.contact)
		}
	}
}

// beat is a host's: to its server, or to another one once it knows that its server is gone and there is a leader to let
// it in. The server before took its last beat up to a second before it ended.
func (s *heartbeatModel) beat(h *modelHost) {
	if h.dead {
		return
	}
	if h.lost > 0 && s.leader >= 0 && s.passed >= h.lost+ServerIdleTimeout {
		for h.lost > 0 {
			if next := s.IntN(3); s.up[next] {
				h.server, h.lost = next, 0
				s.servers[s.leader].record(h.id, s.now())
			}
		}
	}
	if h.lost == 0 && (s.passed+h.phase)%time.Second == 0 {
		s.servers[h.server].record(h.id, s.now())
	}
}

func TestANewLeaderGrantsOneLeaseFromTheLastWordOfTheOneBefore(t *testing.T) {
	for _, c := range []struct {
		name       string
		leaderless time.Duration
		silence    time.Duration
	}{
		{"after an election", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"after a long time without a leader hosts first have to find it", time.Minute, 0},
		{"a server that has just started has heard of none", time.Since(time.Time{}), 0},
	} {
		var b table
		b.record("far", day0.Add(-5*time.Second))
		b.record("near", day0.Add(-c.leaderless).Add(-2*time.Second))
		b.startTerm(day0, c.leaderless, 2200*time.Millisecond)
		if got := b.silence("near", day0); got != c.silence {
			t.Errorf("%s: a silence of %v", c.name, got)
		}
		if _, missed := b.silenceAndLastHeartbeat("far", day0); missed != 0 {
			t.Errorf("%s: a host that may be with another server has missed beats", c.name)
		}
	}
	var b table
	b.record("near", day0.Add(-2*time.Second))
	b.startTerm(day0, time.Second, 2200*time.Millisecond)
	if _, missed := b.silenceAndLastHeartbeat("near", day0); missed != 2*time.Second {
		t.Error("a host that was with this server has missed nothing")
	}
}

func TestANewTermGrantsOneLease(t *testing.T) {
	var b table
	b.resetLeases(day0, day0)
	if b.silence("h", day0.Add(3*time.Second)) != 3*time.Second {
		t.Error("silence does not begin with the term")
	}
	b.record("h", day0.Add(10*time.Second))
	if b.silence("h", day0.Add(11*time.Second)) != time.Second {
		t.Error("a heartbeat does not end the silence")
	}
}
