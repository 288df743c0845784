package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

// busyCluster is a fleet of hosts on which tasks run, and what is known of their ends.
type busyCluster struct {
	*rapid.T
	fleet *HostSet
	tasks []*spec.Task
	ends  map[string]time.Time // those that end by themselves
}

func drawBusyCluster(t *rapid.T) *busyCluster {
	b := &busyCluster{T: t, fleet: NewHostSet(), ends: map[string]time.Time{}}
	for i := range rapid.IntRange(1, 3).Draw(t, "hosts") {
		b.fleet.add(host(fmt.Sprint("h", i), rapid.IntRange(0, 6).Draw(t, "devices")))
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "tasks") {
		id := fmt.Sprintf("t%02d", i)
		placed := b.place(id, rapid.IntRange(0, 4).Draw(t, "gpus"), 1)
		if hours := rapid.IntRange(0, 4).Draw(t, "hours"); len(placed) > 0 && hours > 0 {
			b.ends[id+"-0"] = now.Add(time.Duration(hours) * time.Hour)
		}
		b.tasks = append(b.tasks, placed...)
	}
	return b
}

// place plans tasks, all of them or none.
func (b *busyCluster) place(id string, gpus, count int) []*spec.Task {
	r, n := request(count, gpus), -1
	r.IDs = func() string { // of a task, and then of its one container
		n++
		return fmt.Sprintf("%s-%d", id, n/2)
	}
	d := b.fleet.Plan([]Request{r})[0]
	if len(d.Tasks) < count {
		b.drop(d.Tasks...)
		return nil
	}
	return d.Tasks
}

func (b *busyCluster) drop(tasks ...*spec.Task) {
	for _, task := range tasks {
		b.fleet.DropTask(task)
	}
}

// fits says whether so many tasks would have places.
func (b *busyCluster) fits(gpus, count int) bool {
	placed := b.place("try", gpus, count)
	b.drop(placed...)
	return placed != nil
}

// without asks what is so when some tasks have ended.
func (b *busyCluster) without(gone func(*spec.Task) bool, is func() bool) bool {
	ended := slices.DeleteFunc(slices.Clone(b.tasks), func(t *spec.Task) bool { return !gone(t) })
	b.drop(ended...)
	defer func() {
		for _, task := range ended {
			b.fleet.PutTask(task)
		}
	}()
	return is()
}

func (b *busyCluster) ended(by time.Time) func(*spec.Task) bool {
	return func(t *spec.Task) bool { return !b.ends[t.ID].IsZero() && !b.ends[t.ID].After(by) }
}

func (b *busyCluster) endOf(t *spec.Task) time.Time { return b.ends[t.ID] }

func everything(*spec.Task) bool { return true }

// TestAReservationIsTheFirstMomentWithCapacity: when the tasks have ended that end by then there is room, before there is none, and
// what is kept is there whatever else was placed meanwhile.
func TestAReservationIsTheFirstMomentWithCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBusyCluster(t)
		gpus, count := rapid.IntRange(1, 6).Draw(t, "asks"), rapid.IntRange(1, 3).Draw(t, "count")
		fits := func() bool { return b.fits(gpus, count) }
		if fits() {
			t.Skip("there is room now")
		}
		r := request(count, gpus)
		o, ok := b.fleet.FindReservation(r, b.endOf)
		if empty := b.without(everything, fits); ok != empty {
			t.Fatalf("opening %v, room on empty hosts: %v", ok, empty)
		}
		if !ok {
			return
		}
		if o.At.IsZero() {
			if b.without(b.ended(now.Add(100*time.Hour)), fits) {
				t.Fatal("nobody is said to know when, but limits tell")
			}
			return
		}
		if b.without(b.ended(o.At.Add(-1)), fits) || !b.without(b.ended(o.At), fits) {
			t.Fatalf("%v is not the first moment with room", o.At)
		}
		held, valid := b.fleet.Hold(r, o, b.endOf)
		if !valid {
			t.Fatal("what was found cannot be kept")
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "others") {
			b.place(fmt.Sprintf("o%02d", i), rapid.IntRange(0, 3).Draw(t, "other"), 1)
		}
		b.drop(held...)
		if !b.without(b.ended(o.At), fits) {
			t.Fatal("what was kept is gone")
		}
	})
}

// TestVictimsAreEnoughAndNoMore: without them there is room, with any one of them there is none.
func TestVictimsAreEnoughAndNoMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBusyCluster(t)
		gpus := rapid.IntRange(1, 6).Draw(t, "asks")
		fits := func() bool { return b.fits(gpus, 1) }
		if fits() {
			t.Skip("there is room now")
		}
		may := func(t *spec.Task) bool { return !b.ends[t.ID].IsZero() } // some do, some do not
		victims := b.fleet.Victims(request(1, gpus), func(t *spec.Task) (EvictionCost, bool) {
			return EvictionCost{Priority: b.ends[t.ID].Hour(), Since: b.ends[t.ID]}, may(t)
		})
		among := func(t *spec.Task) bool {
			return slices.ContainsFunc(victims, func(v *spec.Task) bool { return v.ID == t.ID })
		}
		if possible := b.without(may, fits); possible != (len(victims) > 0) {
			t.Fatalf("possible: %v, victims %v", possible, len(victims))
		}
		if len(victims) == 0 {
			return
		}
		if !b.without(among, fits) {
			t.Fatal("there is no room without the victims")
		}
		for _, spared := range victims {
			if b.without(func(t *spec.Task) bool { return among(t) && t.ID != spared.ID }, fits) {
				t.Fatalf("%s is stopped for nothing", spared.ID)
			}
		}
	})
}

// TestEveryRefusalIsTrue: what a host says is missing is missing there, and a host that says nothing has room.
func TestEveryRefusalIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBusyCluster(t)
		r := request(1, rapid.IntRange(0, 6).Draw(t, "asks"))
		refusals, willing := b.fleet.Refusals(r)
		if len(refusals)+willing != len(b.fleet.hosts) || (willing > 0) != b.fits(r.asks(), 1) {
			t.Fatalf("%d refuse, %d do not", len(refusals), willing)
		}
		for _, refusal := range refusals {
			h := b.fleet.hosts[refusal.HostID]
			free, demand := spec.NewFree(h.Host, h.tasks), spec.DemandOf(r.Definition)
			lack, fits := spec.Fits(&free, &demand)
			if fits || lack.Reason != refusal.Reason || lack.Detail() != refusal.Detail {
				t.Fatalf("it says %+v, the state %+v", refusal, lack)
			}
		}
	})
}

func (r Request) asks() int { return spec.DemandOf(r.Definition).TotalGPUs() }

// The tasks that hold nothing of what is missing are left out of the blockers, as far as finding that out has a bound: with very many tasks that end before,
// some stay.
func TestFindingTheBlockersOfATaskHasABound(t *testing.T) {
	for small, few := range map[int]bool{20: true, 1000: false} {
		f := NewHostSet()
		f.add(host("a", 1, func(h *spec.Host) { h.CPU, h.MemoryMiB = 1<<20, 1<<20 }))
		others, holding := request(small, 0), request(1, 1)
		holding.IDs = func() string { return "holder" }
		f.Plan([]Request{others, holding})
		ends := func(task *spec.Task) time.Time {
			if task.ID == "holder" {
				return now.Add(2 * time.Hour)
			}
			return now.Add(time.Hour)
		}
		waiting := request(1, 1)
		reservation, ok := f.FindReservation(waiting, ends)
		if !ok {
			t.Fatalf("beside %d tasks it is never placed", small)
		}
		blockers := f.Blockers(waiting, reservation, ends)
		if len(blockers) == 0 || blockers[len(blockers)-1].ID != "holder" || (len(blockers) == 1) != few {
			t.Errorf("beside %d tasks it waits for %d", small, len(blockers))
		}
	}
}
