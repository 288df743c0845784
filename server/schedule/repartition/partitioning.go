// Package repartition decides how the pool partitions GPUs into MIG devices, so that tasks that wait get theirs, and makes GPUs whole again.
package repartition

import (
	"fmt"
	"slices"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm/partition"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// Change is another layout of a GPU.
type Change struct {
	HostID string
	UUID   string // of the whole GPU
	Layout mig.Layout
}

// Instance is a MIG device that the pool has made, or makes.
type Instance struct {
	HostID string
	UUID   string // of the whole GPU
	mig.Instance
}

// Partitioning is how the GPUs of hosts are to be partitioned. It begins with how they are; Add changes it for one request after another.
type Partitioning struct {
	hosts []*host
	ids   int
}

// host is a host as the partitioning has it.
type host struct {
	schedule.Host
	cards    []partition.Candidate
	before   []mig.Layout // of the cards, in the state
	reserved bool         // its GPUs are for a request that was added before and waits for whole ones
	tasks    []*spec.Task // of the host, and those that the partitioning gives it
}

// New is the partitioning of hosts as they are, with their Tasks. GPUs that are fixed stay as they are to be.
func New(hosts []schedule.Host, isFixed func(hostID, uuid string) bool) *Partitioning {
	p := &Partitioning{}
	for _, h := range hosts {
		own := &host{Host: h, cards: partition.Candidates(h.Host.GPUs, h.Host.Partitions)}
		own.tasks = slices.DeleteFunc(slices.Clone(h.Tasks()), func(t *spec.Task) bool { return t.LastStatus == spec.Stopped })
		own.cards = slices.DeleteFunc(own.cards, func(c partition.Candidate) bool { return isFixed(h.Host.ID, c.Whole.UUID) })
		for i := range own.cards {
			own.before = append(own.before, own.cards[i].Layout)
		}
		p.hosts = append(p.hosts, own)
	}
	return p
}

// record is the host as the state has it.
func (h *host) record() *spec.Host { return h.Host.Host }

// as is the host with its cards in these layouts.
func (h *host) as(layouts []mig.Layout) schedule.Host {
	variant, record := h.Host, *h.record()
	record.Partitions = nil // what it will have, not what goes
	if len(h.cards) > 0 {
		record.GPUs = partition.With(record.GPUs, h.cards, layouts)
	}
	variant.Host, variant.Free = &record, spec.NewFree(&record, h.tasks)
	variant.Tasks = func() []*spec.Task { return h.tasks }
	return variant
}

// Add partitions GPUs so that the request can be placed, if it cannot without: in free slices of GPUs, then of idle ones, then in place of MIG devices
// that nobody has. A request for whole GPUs gets those back of which nobody has a MIG device; after one that has no
// place, a host is left alone. False: no host can take it now.
func (p *Partitioning) Add(r schedule.Request) bool {
	r.IDs = p.id
	hosts := make([]schedule.Host, len(p.hosts))
	for i, h := range p.hosts {
		hosts[i] = h.as(h.layouts(false))
	}
	if p.place(hosts, r) {
		return true
	}
	modes, asksForMIG := []mode{wholeAgain}, schedule.AsksForMIG(r)
	if asksForMIG {
		modes = []mode{extend, open, reclaim}
	}
	for _, m := range modes {
		for _, h := range p.hosts {
			if p.repartition(h, r, m) {
				return true
			}
		}
	}
	if !asksForMIG {
		p.reserve(r)
	}
	return false
}

// reserve leaves alone the host that is the nearest to the request, of those that could run it were they empty: what comes after the request does not
// delay it there.
func (p *Partitioning) reserve(r schedule.Request) {
	r.Run.Count = 1
	var nearest *host
	for _, h := range p.hosts {
		if _, impossible := schedule.Infeasible([]*spec.Host{h.record()}, r); !impossible && !h.reserved && (nearest == nil || h.idle() > nearest.idle()) {
			nearest = h
		}
	}
	if nearest != nil {
		nearest.reserved = true
	}
}

// idle is how many whole GPUs of the host nobody has, or would have without MIG devices.
func (h *host) idle() (n int) {
	for i := range h.cards {
		if !h.isHeldWhole(i) && len(h.held(i)) == 0 {
			n++
		}
	}
	return n
}

// mode is where room for a request is made.
type mode int

const (
	wholeAgain mode = iota // GPUs of whose MIG devices nobody has one are whole
	extend                 // more MIG devices on GPUs that have some
	open                   // also on GPUs that are whole and idle
	reclaim                // also in place of MIG devices that nobody has
)

// maxSteps bounds how often a mode is tried with one MIG device more.
const maxSteps = 8

// repartition is Add for one host, in one mode. MIG devices are of the smallest profile that the request takes, and not more than it needs.
func (p *Partitioning) repartition(h *host, r schedule.Request, m mode) bool {
	if len(h.cards) == 0 || h.reserved && m != wholeAgain {
		return false
	}
	if m == wholeAgain {
		return p.try(h, r, h.layouts(true))
	}
	wanted := max(1, spec.DemandOf(r.Definition).TotalGPUs()*max(1, r.Run.Count))
	for _, profile := range partition.Profiles(h.cards) {
		layouts := h.layouts(m == reclaim)
		for n := 1; n <= wanted && h.add(layouts, profile, m); n++ {
			if (n == wanted || n <= maxSteps) && p.try(h, r, layouts) {
				return true
			}
		}
	}
	return false
}

// layouts are those of the cards as the partitioning has them; onlyHeld: without the MIG devices that nobody has.
func (h *host) layouts(onlyHeld bool) []mig.Layout {
	layouts := make([]mig.Layout, len(h.cards))
	for i := range layouts {
		if layouts[i] = h.cards[i].Layout; onlyHeld {
			layouts[i] = h.held(i)
		}
	}
	return layouts
}

// add puts one more MIG device into the first card that has a place; false: none has.
func (h *host) add(layouts []mig.Layout, profile string, m mode) bool {
	for _, opened := range []bool{true, false} { // cards that have MIG devices come first
		for i := range layouts {
			if (len(layouts[i]) > 0) != opened || !opened && m == extend || h.isHeldWhole(i) {
				continue
			}
			if added, ok := layouts[i].Add(h.cards[i].Whole.Model, profile); ok {
				layouts[i] = layouts[i].With(added)
				return true
			}
		}
	}
	return false
}

// try plans the request on the host with its cards partitioned so, and keeps of that what the request uses.
func (p *Partitioning) try(h *host, r schedule.Request, layouts []mig.Layout) bool {
	if !p.place([]schedule.Host{h.as(layouts)}, r) {
		return false
	}
	for i := range h.cards {
		h.cards[i].Layout = h.needed(i, layouts[i])
	}
	return true
}

// needed is the layout of a card with what its tasks have of the wanted one, and what it had that has a place beside that.
func (h *host) needed(i int, wanted mig.Layout) mig.Layout {
	card := &h.cards[i]
	used := wanted.Without(func(instance mig.Instance) bool { return !h.holds(card.Device(instance).UUID) })
	if h.isHeldWhole(i) {
		return nil
	}
	for _, old := range card.Layout {
		if more := used.With(old); !slices.Contains(used, old) && more.Check(card.Whole.Model) == nil {
			used = more
		}
	}
	return used
}

// place plans the request, and gives its tasks to their hosts.
func (p *Partitioning) place(hosts []schedule.Host, r schedule.Request) bool {
	decision := schedule.PlanOn(hosts, []schedule.Request{r})[0]
	if decision.Err != nil || len(decision.Tasks) == 0 {
		return false
	}
	for _, task := range decision.Tasks {
		for _, h := range p.hosts {
			if h.record().ID == task.HostID {
				h.tasks = append(h.tasks, task)
			}
		}
	}
	return true
}

func (p *Partitioning) id() string {
	p.ids++
	return fmt.Sprintf("plan-%d", p.ids)
}

// holds reports whether a task has, or gets, the device.
func (h *host) holds(uuid string) bool {
	return slices.ContainsFunc(h.tasks, func(t *spec.Task) bool { return slices.Contains(t.GPUs(), uuid) })
}

func (h *host) isHeldWhole(i int) bool { return h.holds(h.cards[i].Whole.UUID) }

// held is the part of a card's layout that stays: what tasks have, or get, and what is not well. That is checked, or released, before it goes.
func (h *host) held(i int) mig.Layout {
	card := &h.cards[i]
	return card.Layout.Without(func(instance mig.Instance) bool {
		d := card.Device(instance)
		return d.Health == gpu.Healthy && !h.holds(d.UUID)
	})
}

// Idle are the MIG devices of the pool that no task has or gets, of hosts that are there.
func (p *Partitioning) Idle() (all []Instance) {
	for _, h := range p.hosts {
		if !h.Connected {
			continue
		}
		for i := range h.cards {
			held := h.held(i)
			for _, instance := range h.cards[i].Layout {
				if !slices.Contains(held, instance) {
					all = append(all, Instance{h.record().ID, h.cards[i].Whole.UUID, instance})
				}
			}
		}
	}
	return all
}

// Remove takes a MIG device that no task has out of the partitioning.
func (p *Partitioning) Remove(gone Instance) {
	for _, h := range p.hosts {
		for i := range h.cards {
			if h.record().ID == gone.HostID && h.cards[i].Whole.UUID == gone.UUID {
				h.cards[i].Layout = h.cards[i].Layout.Without(func(i mig.Instance) bool { return i == gone.Instance })
			}
		}
	}
}

// Changes are the GPUs that are partitioned in another way than the state has it.
func (p *Partitioning) Changes() (all []Change) {
	for _, h := range p.hosts {
		for i := range h.cards {
			if !slices.Equal(h.before[i], h.cards[i].Layout) {
				all = append(all, Change{h.record().ID, h.cards[i].Whole.UUID, h.cards[i].Layout})
			}
		}
	}
	return all
}
