package many

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

var leaderships = flag.Int("leaderships", 1, "how often a leader has to keep the leadership under load")

const (
	// underLoad is how long each time is.
	underLoad = 6 * time.Second
	// busyLoops share the machine's CPUs with the hosts.
	busyLoops = 4
	// diskStall is how long a disk hangs each time, and diskWorks how long it works in between on average.
	diskStall = 300 * time.Millisecond
	diskWorks = time.Second
)

// TestALeaderThatLivesLeadsOn has clients run tasks and make changes while every disk hangs at random and the CPUs belong to others:
// nobody else leads, because the leader's process lives and its links hold.
func TestALeaderThatLivesLeadsOn(t *testing.T) {
	gpus := []string{"--gpus", "sim:8xh100"}
	p := newPoolOn(t, diskSize, slices.Clone(gpus), slices.Clone(gpus), slices.Clone(gpus))
	p.up(t)
	accepted, acknowledged, changes := 0, 0, 0
	for round := range *leaderships {
		leader, begun := p.leader(t), p.termsBegun()
		l, w := p.startLoad(t, p.ecsClients(t), fmt.Sprintf("busy%d", round)), p.startWriters(t, fmt.Sprintf("busy%d", round))
		p.holdBack(t, underLoad)
		w.waitAcknowledged(t, time.Now(), 5)
		l.stop()
		w.stop()
		if n := p.termsBegun() - begun; n > 0 {
			changes += n
			t.Errorf("round %d: %s led, and %d terms have begun since, now of %s", round, leader.Name, n, p.leader(t).Name)
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

// holdBack makes every disk hang time and again, each at its own times, and shares the CPUs with busy loops, for so long.
func (p *pool) holdBack(t *testing.T, length time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var faults sync.WaitGroup
	defer faults.Wait()
	for range busyLoops {
		loop := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		must(t, loop.Start())
		faults.Go(func() { _ = loop.Wait() })
	}
	for _, h := range p.Hosts() {
		faults.Go(func() {
			for testbed.Rest(ctx, rand.N(2*diskWorks)); ctx.Err() == nil; testbed.Rest(ctx, rand.N(2*diskWorks)) {
				if err := h.Disk.Freeze(); err != nil {
					t.Error(err)
				}
				testbed.Rest(context.Background(), diskStall)
				if err := h.Disk.Thaw(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
