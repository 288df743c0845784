package many

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"pinion/packaging/cluster/bed"
)

// rounds is how often each fault is repeated.
func rounds(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("PINION_ROUNDS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("PINION_ROUNDS=%q is not a number", text)
	}
	return n
}

// TestFaults breaks a cluster of five hosts in every way, one after the other.
func TestFaults(t *testing.T) {
	gpus := []string{"--gpus", "sim:8xh100"}
	p := up(t, gpus, gpus, gpus, gpus, gpus)
	t.Run("kill -9 of the leader under load", p.testLeaderKilled)
	t.Run("every host killed in turn", p.testEveryHostKilled)
	t.Run("links cut", p.testLinksCut)
	t.Run("all servers down while tasks run", p.testAllDown)
}

// testLeaderKilled loses no accepted task, starts none twice and gives no GPU to two.
func (p *pool) testLeaderKilled(t *testing.T) {
	l := p.startLoad(t, 8, "load")
	var gaps []time.Duration
	for range rounds(t, 3) {
		l.next(t, time.Now())
		leader := p.leader(t)
		killed := time.Now()
		fine(t, leader.Kill(t.Context()))
		gaps = append(gaps, l.next(t, killed))
		p.start(t, leader)
		p.settled(t)
	}
	l.stop()
	slices.Sort(gaps)
	t.Logf("from the kill to the next accepted RunTask: p50 %v, most %v, of %d", gaps[len(gaps)/2], gaps[len(gaps)-1], len(gaps))
	l.check(t)
	p.sameEverywhere(t)
}

// testEveryHostKilled kills each pinion while tasks run on all of them; others answer meanwhile.
func (p *pool) testEveryHostKilled(t *testing.T) {
	running := p.tick(t, 10, "killed")
	for round := range rounds(t, 1) {
		for i, h := range p.Hosts() {
			fine(t, h.Kill(t.Context()))
			other := p.Hosts()[(i+1)%len(p.Hosts())]
			if i == 0 {
				p.waitLost(t, other, h)
			}
			done := p.run(t, other, "witnessed", "killed-"+strconv.Itoa(round)+"-"+h.Name)
			p.start(t, h)
			p.wait(t, other, done.id(), "STOPPED")
		}
		p.settled(t)
		p.undisturbed(t, running)
		p.sameEverywhere(t)
	}
	p.endTicking(t, running)
}

// waitLost waits until one host shows another, just killed, as not connected.
func (p *pool) waitLost(t *testing.T, at, killed *bed.Host) {
	t.Helper()
	began := time.Now()
	eventually(t, killed.Name+" is not connected any more", func() bool {
		hosts, err := p.listed(at)
		return err == nil && !hosts[killed.Name].Connected
	})
	t.Logf("%s was shown as lost after %v", killed.Name, time.Since(began))
}

// testLinksCut cuts one link of the leader in each direction, then both directions, then all of a host's links.
func (p *pool) testLinksCut(t *testing.T) {
	running := p.tick(t, 10, "cut")
	for round := range rounds(t, 1) {
		for name, cut := range map[string]func(leader, other *bed.Host) error{
			"to-a-host":   p.Cut,
			"from-a-host": func(leader, other *bed.Host) error { return p.Cut(other, leader) },
			"both-ways":   p.CutBoth,
			"deaf":        func(leader, _ *bed.Host) error { return p.isolate(leader, true) },
			"alone":       func(leader, _ *bed.Host) error { return p.isolate(leader, false) },
			"other-alone": func(_, other *bed.Host) error { return p.isolate(other, false) },
		} {
			leader := p.leader(t)
			others := slices.DeleteFunc(slices.Clone(p.Hosts()), func(h *bed.Host) bool { return h == leader })
			fine(t, cut(leader, others[round%len(others)]))
			whole := others[(round+1)%len(others)]
			done := p.run(t, whole, "witnessed", "cut-"+strconv.Itoa(round)+"-"+name)
			fine(t, p.Heal())
			p.settled(t)
			p.wait(t, whole, done.id(), "STOPPED")
			p.undisturbed(t, running)
		}
		p.sameEverywhere(t)
	}
	p.endTicking(t, running)
}

// isolate cuts all links of a host, or only what comes to it.
func (p *pool) isolate(h *bed.Host, oneWay bool) error {
	for _, other := range p.Hosts() {
		if other == h {
			continue
		}
		cut := p.CutBoth
		if oneWay {
			cut = func(h, other *bed.Host) error { return p.Cut(other, h) }
		}
		if err := cut(h, other); err != nil {
			return err
		}
	}
	return nil
}

// testAllDown ends every pinion. Tasks run on; some end meanwhile, and their exit codes are known afterwards.
func (p *pool) testAllDown(t *testing.T) {
	for range rounds(t, 1) {
		p.define(t, "brief", 1, once+`while [ ! -e /w/brief-end ]; do usleep 100000; done; exit 9`)
		suffix := strconv.FormatInt(time.Now().UnixNano(), 36)
		running := p.tick(t, 10, "down-"+suffix)
		brief := map[string]task{}
		for i := range 5 {
			name := "brief-" + suffix + strconv.Itoa(i)
			started := p.run(t, p.Hosts()[i], "brief", name)
			brief[name] = p.wait(t, p.Hosts()[i], started.id(), "RUNNING")
		}
		for i, h := range p.Hosts() {
			end := h.Kill
			if i%2 == 0 {
				end = h.Terminate
			}
			fine(t, end(t.Context()))
		}
		over := filepath.Join(p.witness, "brief-end")
		fine(t, os.WriteFile(over, nil, 0o600))
		for name := range running {
			written := p.ticks(name)
			eventually(t, name+" runs without pinion", func() bool { return p.ticks(name) > written+10 })
		}
		p.start(t, p.Hosts()...)
		fine(t, os.Remove(over))
		p.settled(t)
		p.wantExit(t, brief, 9)
		p.undisturbed(t, running)
		p.sameEverywhere(t)
		p.endTicking(t, running)
	}
}
