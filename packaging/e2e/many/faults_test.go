package many

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// TestFaults breaks a cluster of five hosts in every way, one after the other. Flags say how often.
func TestFaults(t *testing.T) {
	gpus := []string{"--gpus", "sim:8xh100"}
	p := up(t, gpus, gpus, gpus, gpus, gpus)
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"kills", p.testLeaderKilled}, {"hosts", p.testEveryHostKilled}, {"links", p.testLinksCut}, {"servers", p.testNoServers},
		{"exec", p.testCommandsOverHosts}, {"secrets", p.testSecretsOverHosts}, {"losses", p.testServersLost}, {"quorum", p.testQuorumLost}, {"history", p.testHistory},
		{"root", p.testRootRotated}, {"sealing", p.testSealingKeyRotated}, {"login", p.testLoginOverLeaders},
	} {
		t.Run(part.name, func(t *testing.T) {
			p.undoFaults(t)
			part.run(t)
			p.checkStatesEqual(t)
			p.checkReportedFirst(t)
		})
	}
}

// testLeaderKilled loses no accepted task, starts none twice and gives no GPU to two.
func (p *pool) testLeaderKilled(t *testing.T) {
	seen := p.followEvents(t, "leader")
	sdks := p.ecsClients(t)
	var gaps []time.Duration
	accepted := 0
	for pass := range *kills {
		l := p.startLoad(t, sdks, fmt.Sprintf("load%d", pass))
		l.waitAccepted(time.Now())
		leader := p.leader(t)
		killed := time.Now()
		must(t, leader.Kill(t.Context()))
		gone := time.Now() // it may have accepted tasks until now
		gap := l.waitAccepted(gone) + gone.Sub(killed)
		gaps = append(gaps, gap)
		p.start(t, leader)
		p.waitConverged(t)
		l.waitAccepted(time.Now())
		l.stop()
		seen.wait(t, "", "LEADER")
		n := l.check()
		accepted += n
		p.checkStatesEqual(t)
		t.Logf("kill %d: %s led, the next task was accepted after %v, %d tasks", pass+1, leader.Name, gap.Round(time.Millisecond), n)
		if t.Failed() {
			break
		}
	}
	recordTimes(t, "kill -9 of the leader -> next accepted RunTask", gaps, 1500*time.Millisecond, 4*time.Second)
	recordCount("tasks accepted meanwhile, each there once and run once", accepted)
}

// testEveryHostKilled kills each pinion while tasks run on all of them; others answer meanwhile.
func (p *pool) testEveryHostKilled(t *testing.T) {
	running := p.startTicking(t, 10, "killed")
	var losses, tells []time.Duration
	seen := p.followEvents(t, "host")
	for pass := range *repeats {
		for i, h := range p.Hosts() {
			killed := time.Now()
			must(t, h.Kill(t.Context()))
			other := p.Hosts()[(i+1)%len(p.Hosts())]
			if lose := i == pass%len(p.Hosts()); lose {
				losses = append(losses, p.waitLost(t, other, h))
				tells = append(tells, seen.wait(t, h.Name, "DISCONNECTED").Sub(killed))
				defer seen.wait(t, h.Name, "BACK")
			}
			done := p.run(t, other, "witnessed", fmt.Sprintf("killed-%d-%s", pass, h.Name))
			p.start(t, h)
			p.checkExit(t, map[string]task{"run meanwhile": done}, 0)
		}
		p.waitConverged(t)
		p.checkUndisturbed(t, running)
		p.checkStatesEqual(t)
	}
	p.endTicking(t, running)
	recordTimes(t, "kill -9 of a host -> shown as lost", losses, 0, 5*time.Second)
	recordTimes(t, "kill -9 of a host -> event DISCONNECTED at another host", tells, 0, 5*time.Second)
	recordCount("kills of hosts while 10 tasks ran", *repeats*len(p.Hosts()))
}

// waitLost waits until one host shows another, just killed, as not connected.
func (p *pool) waitLost(t *testing.T, at, killed *testbed.Host) time.Duration {
	t.Helper()
	began := time.Now()
	eventually(t, killed.Name+" is not connected any more", func() bool {
		hosts, err := p.hostsByName(at)
		return err == nil && !hosts[killed.Name].Connected
	})
	return time.Since(began)
}

// testLinksCut cuts one link of the leader in each direction, then both directions, then all of a host's links.
func (p *pool) testLinksCut(t *testing.T) {
	running := p.startTicking(t, 10, "cut")
	cuts := map[string]func(leader, other *testbed.Host) error{
		"to-a-host":   p.Cut,
		"from-a-host": func(leader, other *testbed.Host) error { return p.Cut(other, leader) },
		"both-ways":   p.CutBoth,
		"deaf":        func(leader, _ *testbed.Host) error { return p.isolate(leader, p.cutIncoming) },
		"mute":        func(leader, _ *testbed.Host) error { return p.isolate(leader, p.Cut) },
		"alone":       func(leader, _ *testbed.Host) error { return p.isolate(leader, p.CutBoth) },
		"other-alone": func(_, other *testbed.Host) error { return p.isolate(other, p.CutBoth) },
	}
	for pass := range *repeats {
		for name, cut := range cuts {
			leader := p.leader(t)
			others := slices.DeleteFunc(slices.Clone(p.Hosts()), func(h *testbed.Host) bool { return h == leader })
			must(t, cut(leader, others[pass%len(others)]))
			whole := others[(pass+1)%len(others)]
			done := p.run(t, whole, "witnessed", fmt.Sprintf("cut-%d-%s", pass, name))
			must(t, p.Heal())
			p.waitConverged(t)
			p.checkExit(t, map[string]task{"run meanwhile": done}, 0)
			p.checkUndisturbed(t, running)
		}
		p.checkStatesEqual(t)
	}
	p.endTicking(t, running)
	recordCount("cuts of links while 10 tasks ran", *repeats*len(cuts))
}

// cutIncoming cuts what comes to a host from another.
func (p *pool) cutIncoming(h, other *testbed.Host) error { return p.Cut(other, h) }

// isolate cuts all links of a host, each as cut does.
func (p *pool) isolate(h *testbed.Host, cut func(h, other *testbed.Host) error) error {
	for _, other := range p.Hosts() {
		if other == h {
			continue
		}
		if err := cut(h, other); err != nil {
			return err
		}
	}
	return nil
}

// testNoServers ends all servers for a while. Tasks run on; some end meanwhile, and their exit codes are known
// afterwards. Nothing is restarted.
func (p *pool) testNoServers(t *testing.T) {
	p.define(t, "brief", 1, onceScript+`while [ ! -e /w/brief-end ]; do usleep 100000; done; exit 9`)
	running, brief := p.startTicking(t, 14, "away"), map[string]task{}
	for i := range 6 {
		name := fmt.Sprintf("brief-%d", i)
		brief[name] = p.run(t, p.Hosts()[i%len(p.Hosts())], "brief", name)
	}
	for name, was := range brief {
		brief[name] = p.wait(t, p.Hosts()[0], was.id(), "RUNNING")
	}
	servers := p.serverHosts(t)
	for _, h := range servers {
		must(t, h.Kill(t.Context()))
	}
	began := time.Now()
	over := filepath.Join(p.witness, "brief-end")
	must(t, os.WriteFile(over, nil, 0o600))
	testbed.Rest(t.Context(), *away)
	for name := range running {
		written := p.tickCount(name)
		eventually(t, name+" runs without servers", func() bool { return p.tickCount(name) > written })
	}
	p.start(t, servers...)
	back := time.Now()
	p.waitConverged(t)
	recordTimes(t, "servers started again -> all hosts are in touch", []time.Duration{time.Since(back)}, 0, 0)
	must(t, os.Remove(over))
	p.checkExit(t, brief, 9)
	p.checkUndisturbed(t, running)
	p.endTicking(t, running)
	recordCount(fmt.Sprintf("tasks that ran on without servers for %v, none restarted, all exit codes known", back.Sub(began).Round(time.Second)), len(running)+len(brief))
}

// serverHosts are the hosts that are servers now: as many as are wanted, which is not so while the roles change.
func (p *pool) serverHosts(t *testing.T) (servers []*testbed.Host) {
	t.Helper()
	eventually(t, fmt.Sprintf("the leader knows %d servers", p.wantServers()), func() bool {
		hosts, err := p.hostsByName(p.leader(t))
		if err != nil { // a leader that was cut off until now does not know yet whether it leads
			return false
		}
		servers = nil
		for _, h := range p.Hosts() {
			if role := hosts[h.Name].Role; role == "leader" || role == "server" {
				servers = append(servers, h)
			}
		}
		return len(servers) == p.wantServers()
	})
	return servers
}
