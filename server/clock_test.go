package server

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"pinion/server/pki"
)

// The clock of a host is off, be it an agent's or a server's: the leader tells by how much, until it is right again.
func TestAClockThatIsOffIsSaidWithItsAmount(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	off := p.followers()[0]
	token := p.token()
	agent := p.host(func(c *MemberConfig) { c.Join, c.Token = p.leader().where, token })
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
				admin := p.leader().member.Hosts()
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
	agent.cfg.Join, agent.cfg.Token = "", ""
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
