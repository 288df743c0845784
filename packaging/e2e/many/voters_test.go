package many

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

var voterChanges = flag.Int("voter-changes", 4, "how often the servers of a pool are changed while changes are written")

// convergeEach is after how many changes of the servers all of them have to have come to rest.
const convergeEach = 5

// TestServersChangeAndNothingIsLost promotes, demotes and removes hosts, has them leave and join again, at random and mostly before
// the change before has come to rest: a majority is kept, for changes are acknowledged after each, and what was acknowledged stays.
func TestServersChangeAndNothingIsLost(t *testing.T) {
	none := []string{"--gpus", "none"}
	p := up(t, slices.Clone(none), slices.Clone(none), slices.Clone(none), slices.Clone(none), slices.Clone(none))
	kinds := []struct {
		name   string
		from   []string // roles
		change func(*testing.T, *testbed.Host)
	}{
		{"promote", []string{"agent"}, p.promote}, {"demote", []string{"leader", "server"}, p.demote},
		{"leave", nil, p.leaveAndJoin}, {"rm", nil, p.removeAndJoin},
	}
	w, made, acknowledged := p.startWriters(t, "voters"), map[string]int{}, 0
	for n := range *voterChanges {
		kind := kinds[(n+rand.IntN(len(kinds)/2))%len(kinds)]
		kind.change(t, p.anyHost(t, kind.from))
		made[kind.name]++
		w.waitAcknowledged(t, time.Now(), 5)
		if n%convergeEach == convergeEach-1 {
			acknowledged += p.stopAndCheck(t, w)
			t.Logf("%d changes of the servers: %v", n+1, made)
			w = p.startWriters(t, fmt.Sprintf("voters%d", n))
		}
	}
	acknowledged += p.stopAndCheck(t, w)
	recordCount(fmt.Sprintf("changes acknowledged over %d changes of the servers, all there", *voterChanges), acknowledged)
}

// anyHost is one of the hosts that have such a role now; without roles, any.
func (p *pool) anyHost(t *testing.T, roles []string) (h *testbed.Host) {
	t.Helper()
	eventually(t, fmt.Sprintf("a host is one of %v", roles), func() bool {
		known, err := p.hostsByName(p.leader(t))
		h = p.Hosts()[rand.IntN(len(p.Hosts()))]
		return err == nil && (len(roles) == 0 || slices.Contains(roles, known[h.Name].Role))
	})
	return h
}

// otherServer is a server beside this host: its root may change the pool.
func (p *pool) otherServer(t *testing.T, h *testbed.Host) (other *testbed.Host) {
	t.Helper()
	eventually(t, "there is a server beside "+h.Name, func() bool {
		other = p.leader(t)
		known, _ := p.hostsByName(other)
		for _, o := range p.Hosts() {
			if other == h && known[o.Name].Role == "server" {
				other = o
			}
		}
		return other != h
	})
	return other
}

// mustPinion runs a command about a host on another one until it is done: what cannot be done just now says so.
func (p *pool) mustPinion(t *testing.T, about *testbed.Host, args ...string) {
	t.Helper()
	p.untilDone(t, func() *testbed.Host { return p.otherServer(t, about) }, args...)
}

// untilDone runs a command on a host until it is done.
func (p *pool) untilDone(t *testing.T, on func() *testbed.Host, args ...string) {
	t.Helper()
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("at last: %v", err)
		}
	}()
	eventually(t, fmt.Sprintf("pinion %v", args), func() bool {
		_, err = on().Pinion(args...)
		return err == nil
	})
}

func (p *pool) promote(t *testing.T, h *testbed.Host) {
	t.Helper()
	p.mustPinion(t, h, "hosts", "promote", h.Name)
}

func (p *pool) demote(t *testing.T, h *testbed.Host) {
	t.Helper()
	p.mustPinion(t, h, "hosts", "demote", h.Name)
}

func (p *pool) leaveAndJoin(t *testing.T, h *testbed.Host) {
	t.Helper()
	p.untilDone(t, func() *testbed.Host { return h }, "leave", "--force")
	p.joinAgain(t, h)
}

// removeAndJoin removes a host from another one: its pinion ends by itself, and what it leaves behind is taken away.
func (p *pool) removeAndJoin(t *testing.T, h *testbed.Host) {
	t.Helper()
	p.remove(t, h)
	eventually(t, h.Name+" has ended because it was removed", func() bool { return h.Status() == "down" })
	p.untilDone(t, func() *testbed.Host { return h }, "down", "--purge", "--force")
	p.joinAgain(t, h)
}

// remove removes a host until it is gone. The answer to the command that did it may be lost with the leader, and the next one finds
// no such host.
func (p *pool) remove(t *testing.T, h *testbed.Host) {
	t.Helper()
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("at last: %v", err)
		}
	}()
	eventually(t, h.Name+" is removed", func() bool {
		other := p.otherServer(t, h)
		if _, err = other.Pinion("hosts", "rm", "--force", h.Name); err == nil {
			return true
		}
		known, unknown := p.hostsByName(other)
		_, is := known[h.Name]
		return unknown == nil && !is
	})
}

// joinAgain has the host join as a new one.
func (p *pool) joinAgain(t *testing.T, h *testbed.Host) {
	t.Helper()
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("at last: %v", err)
		}
	}()
	eventually(t, h.Name+" has joined", func() bool {
		var join []string
		if join, err = p.otherServer(t, h).JoinFlags(1, "default"); err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
		defer cancel()
		err = h.Start(ctx, join...) // ends when the leader that it asks does
		return err == nil
	})
}
