package many

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/packaging/failpoint"
	"pinion/packaging/testbed"
)

var changeCrashes = flag.Int("change-crashes", 2, "how often a host is killed at a failpoint that only a change of the servers passes")

// serverChange is a failpoint with the change of the servers that passes it.
type serverChange struct {
	point  failpoint.Point
	joins  bool // the host that becomes a server passes it, else the leader
	change func(p *pool, t *testing.T, server, agent *testbed.Host)
}

// serverChanges have all failpoints that tasks do not pass.
var serverChanges = []serverChange{
	{failpoint.RoleRecorded, false, replaceServer},
	{failpoint.NonvoterAdded, false, promoteAgent},
	{failpoint.SnapshotBegun, true, promoteAgent},
	{failpoint.VoterAdding, false, promoteAgent},
	{failpoint.HostAdmitted, false, replaceServer},
	{failpoint.SnapshotWritten, true, promoteAgent},
	{failpoint.ServerRemoved, false, promoteAgent},
}

func isOfServerChange(at failpoint.Point) bool {
	return slices.ContainsFunc(serverChanges, func(c serverChange) bool { return c.point == at })
}

func promoteAgent(p *pool, t *testing.T, _, agent *testbed.Host) { p.promote(t, agent) }

// replaceServer removes a server, so that the agent becomes one in its place, and has the removed one join as a new host.
func replaceServer(p *pool, t *testing.T, server, _ *testbed.Host) { p.removeAndJoin(t, server) }

// TestACrashWhileServersChangeLosesNothing kills the leader, or the host that becomes a server, at chosen points of a change of the
// servers while changes are written: what was acknowledged stays, and the change is carried to its end.
func TestACrashWhileServersChangeLosesNothing(t *testing.T) {
	none := []string{"--gpus", "none"}
	p := newPool(t, slices.Clone(none), slices.Clone(none), slices.Clone(none), slices.Clone(none))
	p.upFromSnapshot(t)
	first, at, acknowledged := rand.IntN(len(serverChanges)), map[failpoint.Point]int{}, 0
	for n := range *changeCrashes {
		w := p.startWriters(t, fmt.Sprint("change", n))
		c := serverChanges[(first+n)%len(serverChanges)]
		at[c.point] += p.crashInChange(t, c)
		w.waitAcknowledged(t, time.Now(), 5)
		acknowledged += p.stopAndCheck(t, w)
		t.Logf("%d changes with a crash: %v", n+1, at)
	}
	recordCount(fmt.Sprintf("changes of the servers with a crash at one of %d failpoints", len(at)), *changeCrashes)
	recordCount("changes acknowledged meanwhile, all there", acknowledged)
}

// upFromSnapshot is up for a pool whose log begins behind a snapshot: every host that becomes a server is sent one.
func (p *pool) upFromSnapshot(t *testing.T) {
	t.Helper()
	first, others := p.Hosts()[0], p.Hosts()[1:]
	p.start(t, first)
	must(t, first.Terminate(t.Context()))
	_, err := first.Pinion("recover")
	must(t, err)
	p.start(t, first)
	p.makeKey(t, p.Hosts()[0])
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	join, err := first.JoinFlags(len(others), "default")
	must(t, err)
	for _, h := range others {
		must(t, h.Start(ctx, join...))
	}
	p.waitConverged(t)
}

// changePatience is how long a change may take to pass a failpoint. Then it is made anew: somebody else may lead meanwhile.
const changePatience = 15 * time.Second

// maxChanges is how often a change is made at most.
const maxChanges = 5

// crashInChange makes a change during which a host is killed at the point, and answers how often that happened: a leader may be
// followed by another one that passes the point too.
func (p *pool) crashInChange(t *testing.T, c serverChange) int {
	t.Helper()
	servers, leader := p.serverHosts(t), p.leader(t)
	armed := without(servers, leader)
	if c.joins {
		armed = without(p.Hosts(), servers...)
	}
	r := p.arm(t, c.point, armed)
	defer r.stop()
	for range maxChanges {
		if !c.joins {
			p.haveOneLead(t, armed, r)
		}
		servers = p.serverHosts(t)
		c.change(p, t, without(servers, armed...)[0], without(p.Hosts(), servers...)[0])
		if r.awaitCrash(t.Context()) {
			break
		}
	}
	r.stop()
	p.disarm(t, armed)
	if r.crashes.Load() == 0 {
		t.Fatalf("no host was killed at %s", c.point)
	}
	return int(r.crashes.Load())
}

// without are the hosts but some.
func without(hosts []*testbed.Host, some ...*testbed.Host) []*testbed.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h *testbed.Host) bool { return slices.Contains(some, h) })
}

// haveOneLead restarts the leader until one of these hosts leads, or has been killed.
func (p *pool) haveOneLead(t *testing.T, hosts []*testbed.Host, r *restarter) {
	t.Helper()
	eventually(t, "a host with a failpoint leads", func() bool {
		leader := p.knownLeader()
		if r.crashes.Load() > 0 || slices.Contains(hosts, leader) {
			return true
		}
		if leader != nil {
			must(t, leader.Kill(t.Context()))
			eventually(t, "another host leads", func() bool { return r.crashes.Load() > 0 || p.knownLeader() != nil })
			p.start(t, leader)
		}
		return false
	})
}

// restarter starts hosts again that ended at their failpoint, without one.
type restarter struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	crashes atomic.Int64
}

// arm starts hosts anew with a failpoint.
func (p *pool) arm(t *testing.T, at failpoint.Point, hosts []*testbed.Host) *restarter {
	t.Helper()
	for _, h := range hosts {
		must(t, h.Kill(t.Context()))
		h.Env = []string{failpoint.Variable + "=" + string(at)}
		must(t, h.StartDetached())
	}
	r := &restarter{}
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	r.running.Go(func() {
		for ; ctx.Err() == nil; testbed.Rest(ctx, 20*time.Millisecond) {
			for _, h := range hosts {
				if h.Status() == "down" {
					r.restart(t, at, h)
				}
			}
		}
	})
	return r
}

func (r *restarter) restart(t *testing.T, at failpoint.Point, h *testbed.Host) {
	if output := h.Output(); strings.Contains(output, failpoint.Line(at)) {
		r.crashes.Add(1)
	} else {
		t.Errorf("%s did not end at %s but:\n%s", h.Name, at, output[max(0, len(output)-2000):])
	}
	h.Env = nil
	if err := h.StartDetached(); err != nil {
		t.Error(err)
	}
}

// awaitCrash waits for a crash as long as a change may take.
func (r *restarter) awaitCrash(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, changePatience)
	defer cancel()
	for r.crashes.Load() == 0 && ctx.Err() == nil {
		testbed.Rest(ctx, 20*time.Millisecond)
	}
	return r.crashes.Load() > 0
}

func (r *restarter) stop() {
	r.cancel()
	r.running.Wait()
}

// disarm starts the hosts anew that still have a failpoint.
func (p *pool) disarm(t *testing.T, hosts []*testbed.Host) {
	t.Helper()
	for _, h := range hosts {
		if h.Env != nil {
			h.Env = nil
			must(t, h.Kill(t.Context()))
			must(t, h.StartDetached())
		}
	}
	eventually(t, "hosts run without failpoints", func() bool {
		return !slices.ContainsFunc(hosts, func(h *testbed.Host) bool { return h.Status() != "running" })
	})
}
