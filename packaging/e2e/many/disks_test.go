package many

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// diskSize leaves a host of this test several hundred MiB beside what it unpacks.
const diskSize = 800 << 20

// TestDisks breaks the disks of a cluster of three, which are file systems of their own, while changes are written all
// the time: whatever was acknowledged is there afterwards.
func TestDisks(t *testing.T) {
	none := []string{"--gpus", "none"}
	p := newPoolOn(t, diskSize, slices.Clone(none), slices.Clone(none), slices.Clone(none))
	p.up(t)
	for name, part := range map[string]func(*testing.T){"hang": p.testHang, "full": p.testFull, "flicker": p.testFlicker} {
		t.Run(name, func(t *testing.T) {
			p.undoFaults(t)
			part(t)
		})
	}
}

// stopAndCheck stops the writers and checks that every acknowledged change is there.
func (p *pool) stopAndCheck(t *testing.T, w *writers) int {
	t.Helper()
	w.stop()
	p.waitConverged(t)
	p.checkStatesEqual(t)
	return w.check(t)
}

// hangFor is how long a disk hangs at least: longer than the 5 s after which a server leaves. On a busy machine somebody else may lead
// before that.
const hangFor = 8 * time.Second

// testHang freezes the leader's disk: others take over, and the leader ends by itself.
func (p *pool) testHang(t *testing.T) {
	var gaps []time.Duration
	acknowledged := 0
	for pass := range *hangs {
		w := p.startWriters(t, fmt.Sprintf("hang%d", pass))
		w.waitAcknowledged(t, time.Now(), 5)
		leader := p.leader(t)
		must(t, leader.Disk.Freeze())
		frozen := time.Now()
		gap := w.waitAcknowledged(t, frozen, 1)
		gaps = append(gaps, gap)
		testbed.Rest(t.Context(), time.Until(frozen.Add(hangFor)))
		must(t, leader.Disk.Thaw())
		eventually(t, leader.Name+" has left because its disk hangs", func() bool { return leader.Status() == "down" })
		p.start(t, leader)
		n := p.stopAndCheck(t, w)
		acknowledged += n
		t.Logf("hang %d: the next change was acknowledged after %v, %d changes", pass+1, gap.Round(time.Millisecond), n)
	}
	recordTimes(t, "the leader's disk hangs -> next acknowledged change", gaps, 0, 10*time.Second)
	recordCount("changes acknowledged while disks hung, all there", acknowledged)
}

// fullFor is how long disks stay full.
const fullFor = 3 * time.Second

// testFull fills the disks of one server, then of two, each server's in turn.
func (p *pool) testFull(t *testing.T) {
	var back []time.Duration
	acknowledged := 0
	for pass := range *fills {
		for _, n := range []int{1, 2} {
			w := p.startWriters(t, fmt.Sprintf("full%d-%d", n, pass))
			w.waitAcknowledged(t, time.Now(), 5)
			full := p.rotate(pass, n)
			for _, h := range full {
				must(t, h.Disk.Fill())
			}
			testbed.Rest(t.Context(), fullFor) // what they do meanwhile is up to them
			freed := time.Now()
			for _, h := range full {
				must(t, h.Disk.Free())
			}
			gap := w.waitAcknowledged(t, freed, 5)
			back = append(back, gap)
			count := p.stopAndCheck(t, w)
			acknowledged += count
			t.Logf("full %d: with room again on %d disks the next change was acknowledged after %v, %d changes", pass+1, n, gap.Round(time.Millisecond), count)
		}
	}
	recordTimes(t, "room again on full disks -> next acknowledged change", back, 0, 30*time.Second)
	recordCount("changes acknowledged around full disks, all there", acknowledged)
}

// rotate are n hosts, beginning with another one each round.
func (p *pool) rotate(pass, n int) (some []*testbed.Host) {
	for i := range n {
		some = append(some, p.Hosts()[(pass+i)%len(p.Hosts())])
	}
	return some
}

const (
	// writeFailure is how long a follower's store fails each time, and how long it works in between.
	writeFailure = 30 * time.Millisecond
	// writeFailuresEach is how many times that is in one round.
	writeFailuresEach = 20
)

// rejectedEntries is the log message of a leader whose follower could not store entries.
const rejectedEntries = "appendEntries rejected"

// testFlicker makes the store of a follower fail again and again: it never stays behind for good.
func (p *pool) testFlicker(t *testing.T) {
	acknowledged := 0
	var behind []time.Duration
	for pass := range *flickers {
		w := p.startWriters(t, fmt.Sprintf("flicker%d", pass))
		w.waitAcknowledged(t, time.Now(), 5)
		leader := p.leader(t)
		others := slices.DeleteFunc(slices.Clone(p.Hosts()), func(h *testbed.Host) bool { return h == leader })
		follower := others[pass%len(others)]
		before := p.countLines(rejectedEntries)
		must(t, follower.FailWrites(t.Context(), writeFailure, writeFailuresEach))
		w.waitAcknowledged(t, time.Now(), 5)
		w.stop()
		began := time.Now()
		p.checkStatesEqual(t)
		behind = append(behind, time.Since(began))
		acknowledged += p.stopAndCheck(t, w)
		if p.countLines(rejectedEntries) == before {
			t.Errorf("nobody heard of a failure of the store of %s, which %s led", follower.Name, leader.Name)
		}
		if follower.Status() != "running" {
			t.Errorf("%s did not outlive it:\n%s", follower.Name, follower.Output())
		}
	}
	recordTimes(t, fmt.Sprintf("a follower's store failed %d times for %v -> all states equal", writeFailuresEach, writeFailure), behind, 0, 0)
	recordCount("changes acknowledged around failing stores, all there", acknowledged)
}
