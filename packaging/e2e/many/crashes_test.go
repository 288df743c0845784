package many

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/packaging/failpoint"
	"pinion/packaging/testbed"
)

var (
	crashCount = flag.Int("crashes", 3, "how often a host is killed at one of its failpoints while tasks run")
	crashSeed  = flag.Uint64("crash-seed", 0, "chooses hosts and points; 0: another one each time")
)

const (
	// crashesEach is how many crashes there are in a round, which ends with all checks.
	crashesEach = 5
	// armedHosts have a failpoint at the same time: with both of them down, three servers may have lost their majority.
	armedHosts = 2
	// maxPasses is how often a failpoint is passed at most before the host is killed there.
	maxPasses = 4
	// crashPatience is how long a host may live on with a failpoint that it does not pass: that of a leader, on another server.
	crashPatience = 3 * time.Second
)

// crasher restarts hosts with failpoints.
type crasher struct {
	pool  *pool
	rand  *rand.Rand
	armed map[*testbed.Host]armedPoint
	tried map[failpoint.Point]int // how often a host had it
	hits  map[failpoint.Point]int
}

type armedPoint struct {
	point    failpoint.Point
	since    time.Time
	unseated bool // another leader was restarted for it
}

// TestACrashAtAnyPointLosesNothing kills hosts at chosen points of the agent and of the server while clients run tasks and roles
// change: no accepted task is lost or run twice, no GPU is given to two, and all states are equal.
func TestACrashAtAnyPointLosesNothing(t *testing.T) {
	gpus := []string{"--gpus", "sim:8xh100"}
	p := up(t, slices.Clone(gpus), slices.Clone(gpus), slices.Clone(gpus), slices.Clone(gpus))
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-crash-seed %d", seed)
	c := &crasher{pool: p, rand: rand.New(rand.NewPCG(seed, seed)), armed: map[*testbed.Host]armedPoint{}, tried: map[failpoint.Point]int{}, hits: map[failpoint.Point]int{}}
	sdks, accepted, crashed := p.ecsClients(t), 0, 0
	for pass := 0; crashed < *crashCount; pass++ {
		l := p.startLoad(t, sdks, fmt.Sprintf("crash%d", pass))
		l.waitAccepted(time.Now())
		n := min(crashesEach, *crashCount-crashed)
		c.crash(t, n)
		crashed += n
		p.waitConverged(t)
		l.waitAccepted(time.Now())
		l.stop()
		accepted += l.check()
		p.checkStatesEqual(t)
		p.checkReportedFirst(t)
		t.Logf("%d crashes at %d points, %d tasks", crashed, len(c.hits), accepted)
		if t.Failed() {
			break
		}
	}
	t.Logf("crashes at each point: %v", c.hits)
	recordCount(fmt.Sprintf("crashes at %d failpoints of tasks and of what is recorded", len(c.hits)), crashed)
	recordCount("tasks accepted meanwhile, each there once and run once", accepted)
}

// crash has so many crashes happen on the leader and another host, and starts all hosts again without failpoints.
func (c *crasher) crash(t *testing.T, n int) {
	t.Helper()
	leader := c.pool.leader(t)
	others := slices.DeleteFunc(slices.Clone(c.pool.Hosts()), func(h *testbed.Host) bool { return h == leader })
	c.rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	hosts := append(others[:armedHosts-1:armedHosts-1], leader)
	for _, h := range hosts {
		c.arm(t, h)
	}
	for range n {
		eventually(t, "a host passes its failpoint", func() bool { return c.crashOne(t, hosts) })
	}
	for _, h := range hosts {
		h.Env = nil
		must(t, h.Kill(t.Context()))
	}
	c.pool.start(t, hosts...)
}

// crashOne reports whether one of the hosts has ended at its failpoint, and starts it with another one, like one that does not get to
// its own.
func (c *crasher) crashOne(t *testing.T, hosts []*testbed.Host) (crashed bool) {
	t.Helper()
	for _, h := range hosts {
		at := c.armed[h]
		if crashed = h.Status() == "down"; crashed {
			if output := h.Output(); !strings.Contains(output, failpoint.Line(at.point)) {
				t.Fatalf("%s did not end at %s but:\n%s", h.Name, at.point, output[max(0, len(output)-2000):])
			}
			c.hits[at.point]++
		} else if time.Since(at.since) < crashPatience || c.unseat(t, h, hosts) {
			continue
		}
		c.changeRole(h)
		c.arm(t, h)
		if crashed {
			return true
		}
	}
	return false
}

// unseat restarts a leader without a failpoint, once for a host that has one and waits: one of those hosts leads then, and gets to
// the points of a leader.
func (c *crasher) unseat(t *testing.T, h *testbed.Host, hosts []*testbed.Host) bool {
	t.Helper()
	leader, at := c.pool.knownLeader(), c.armed[h]
	if leader == nil || at.unseated || slices.Contains(hosts, leader) {
		return false
	}
	must(t, leader.Kill(t.Context()))
	must(t, leader.StartDetached())
	c.armed[h] = armedPoint{point: at.point, since: time.Now(), unseated: true}
	return true
}

// arm starts a host anew with a failpoint.
func (c *crasher) arm(t *testing.T, h *testbed.Host) {
	t.Helper()
	must(t, h.Kill(t.Context()))
	at := c.nextPoint()
	h.Env = []string{fmt.Sprintf("%s=%s:%d", failpoint.Variable, at, 1+c.rand.IntN(maxPasses))}
	must(t, h.StartDetached())
	c.armed[h] = armedPoint{point: at, since: time.Now()}
}

// nextPoint is one of the points that were tried least, beside those that only a change of the servers passes.
func (c *crasher) nextPoint() failpoint.Point {
	points := slices.DeleteFunc(slices.Clone(failpoint.Points), isOfServerChange)
	c.rand.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	next := slices.MinFunc(points, func(a, b failpoint.Point) int { return c.tried[a] - c.tried[b] })
	c.tried[next]++
	return next
}

// changeRole has the pool give the host another role, if it can now: most roles change at the same time as hosts crash.
func (c *crasher) changeRole(h *testbed.Host) {
	change := []string{"promote", "demote"}[c.rand.IntN(2)]
	for _, other := range c.pool.Hosts() {
		if other == h || other.Status() != "running" {
			continue
		}
		if _, err := other.Pinion("hosts", change, h.Name); err == nil {
			return
		}
	}
}
