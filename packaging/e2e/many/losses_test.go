package many

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

var (
	losses  = flag.Int("losses", 1, "how often all servers are killed at once while tasks run")
	quorums = flag.Int("quorums", 2, "how often the quorum is lost, by kills and by cut links in turn")
)

// testServersLost kills all servers at once, time and again: the processes of the tasks are the same ones all the time.
func (p *pool) testServersLost(t *testing.T) {
	running := p.startTicking(t, 10, "lost")
	pids := processesOf(t, running)
	servers := p.serverHosts(t)
	for range *losses {
		for _, h := range servers {
			must(t, h.Kill(t.Context()))
		}
		for name := range running {
			written := p.tickCount(name)
			eventually(t, name+" runs without servers", func() bool { return p.tickCount(name) > written })
		}
		p.start(t, servers...)
		p.waitConverged(t)
		p.checkUndisturbed(t, running)
		if now := processesOf(t, running); !maps.Equal(now, pids) {
			t.Errorf("the tasks were the processes %v, and are %v", pids, now)
		}
	}
	p.endTicking(t, running)
	recordCount("losses of all servers at once, after which 10 tasks were the same processes", *losses)
}

// testQuorumLost takes the quorum away while changes are made: what was acknowledged is there afterwards. In turn two of three
// servers are killed, or they are killed while the leader is cut off, and come back as a pair that does not hear of it.
func (p *pool) testQuorumLost(t *testing.T) {
	running := p.startTicking(t, 5, "quorum")
	acknowledged := 0
	for pass := range *quorums {
		w := p.startWriters(t, fmt.Sprint("quorum", pass))
		w.waitAcknowledged(t, time.Now(), 10)
		leader := p.leader(t)
		pair := slices.DeleteFunc(p.serverHosts(t), func(h *testbed.Host) bool { return h == leader })
		apart := pass%2 == 1
		if apart {
			must(t, p.isolate(leader, p.CutBoth))
		}
		for _, h := range pair {
			must(t, h.Kill(t.Context()))
		}
		p.start(t, pair...)
		w.waitAcknowledged(t, time.Now(), 10)
		must(t, p.Heal())
		p.waitConverged(t)
		w.waitAcknowledged(t, time.Now(), 10)
		w.stop()
		acknowledged += w.check(t)
		p.checkUndisturbed(t, running)
		p.checkStatesEqual(t)
	}
	p.endTicking(t, running)
	recordCount(fmt.Sprintf("changes acknowledged over %d losses of the quorum, each there afterwards", *quorums), acknowledged)
}
