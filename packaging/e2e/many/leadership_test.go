package many

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

var leaderships = flag.Int("leaderships", 1, "how often a leader has to keep the leadership under load")

// underLoad is how long each time is.
const underLoad = 6 * time.Second

// TestALeaderThatLivesLeadsOn has clients run tasks and make changes while every disk hangs at random and the CPUs belong to others:
// nobody else leads, because the leader's process lives and its links hold.
func TestALeaderThatLivesLeadsOn(t *testing.T) {
	gpus := []string{"--gpus", "sim:8xh100"}
	p := newPoolOn(t, diskSize, slices.Clone(gpus), slices.Clone(gpus), slices.Clone(gpus))
	p.up(t)
	accepted, acknowledged, changes := 0, 0, 0
	for pass := range *leaderships {
		leader, begun := p.leader(t), p.termsBegun()
		l, w := p.startLoad(t, p.ecsClients(t), fmt.Sprintf("busy%d", pass)), p.startWriters(t, fmt.Sprintf("busy%d", pass))
		p.holdBack(t, underLoad)
		w.waitAcknowledged(t, time.Now(), 5)
		l.stop()
		w.stop()
		if n := p.termsBegun() - begun; n > 0 {
			changes += n
			t.Errorf("round %d: %s led, and %d terms have begun since, now of %s", pass, leader.Name, n, p.leader(t).Name)
		}
		p.waitConverged(t)
		accepted, acknowledged = accepted+l.check(), acknowledged+w.check(t)
		p.checkStatesEqual(t)
	}
	recordCount(fmt.Sprintf("changes of the leader in %d times %v on disks that hang and CPUs that are shared", *leaderships, underLoad), changes)
	recordCount("tasks accepted meanwhile, each run once", accepted)
	recordCount("changes acknowledged meanwhile, all there", acknowledged)
}

// termsBegun counts the terms that hosts have begun to lead in.
func (p *pool) termsBegun() int { return p.countLines(`msg="this server leads the pool"`) }

// countLines counts how often the hosts have written a text since they were started last.
func (p *pool) countLines(text string) (n int) {
	for _, h := range p.Hosts() {
		n += strings.Count(h.Output(), text)
	}
	return n
}

// holdBack starves the hosts of disks and CPUs for so long.
func (p *pool) holdBack(t *testing.T, length time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	disks := make([]testbed.Disk, len(p.Hosts()))
	for i, h := range p.Hosts() {
		disks[i] = h.Disk
	}
	must(t, testbed.Stress(ctx, disks))
}
