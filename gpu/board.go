package gpu

import (
	"slices"
	"sync"
)

// Board is the GPUs of one host in the form that choosing takes: sets of devices are masks, and what was chosen once from
// a free set is remembered for every host that is wired alike. It never changes, so any number of goroutines may ask it
// at a time; a changed inventory needs a new Board. The zero value is the board of a host without GPUs.
type Board struct {
	uuids   []string // by position, which is the order of device indices
	healthy Set
	choices *choices // nil without devices
}

// Boards makes boards, and lets those of hosts that are wired alike share what was chosen. The zero value is ready to
// use, by any number of goroutines at a time. It keeps what it learnt for as long as it lives: 2 kB for each number that
// was asked for of a wiring of 8 devices; of 16 it is 32 kB, and 2 kB for each number and each state of the upper 8.
type Boards struct {
	mu       sync.Mutex
	byWiring map[string]*choices
}

// Board makes the board of a host with these devices, in whatever order they come. Of more than 32 devices, which no driver
// serves, it has the 32 with the lowest indices.
func (b *Boards) Board(devices []Device) Board {
	all := ordered(devices, maxDevices)
	if len(all) == 0 {
		return Board{}
	}
	board := Board{uuids: uuids(all), choices: b.choicesOf(wire(all))}
	for i, d := range all {
		if d.Health == Healthy {
			board.healthy |= 1 << i
		}
	}
	return board
}

func (b *Boards) choicesOf(w wiring) *choices {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := w.key()
	c := b.byWiring[key]
	if c == nil {
		c = newChoices(w)
		if b.byWiring == nil {
			b.byWiring = map[string]*choices{}
		}
		b.byWiring[key] = c
	}
	return c
}

// Set is the healthy devices among the named ones. Names of other hosts' devices do not count.
func (b Board) Set(names []string) Set {
	var set Set
	for _, uuid := range names {
		if at := slices.Index(b.uuids, uuid); at >= 0 {
			set |= 1 << at
		}
	}
	return set & b.healthy
}

// UUIDs names the devices of a set, ordered by index.
func (b Board) UUIDs(set Set) []string {
	names := make([]string, 0, set.Len())
	for i := range set.positions() {
		names = append(names, b.uuids[i])
	}
	return names
}

// Pick chooses n of the free devices as the function Pick does. It is empty when n is not positive or when fewer than n
// healthy devices are free.
func (b Board) Pick(free Set, n int) Set { return b.choose(free, n).set }

// Worth tells how well the devices that Pick would choose are wired: the sum over their pairs, in units of the farthest
// pair (SYS 1, NODE 2, PHB 3, PXB 4, PIX 5, NVLink 10 a lane and the path beside it). It compares hosts for the same n:
// more is better. It is 0 for a single device, and when Pick is empty.
func (b Board) Worth(free Set, n int) int { return b.choose(free, n).worth }

func (b Board) choose(free Set, n int) choice {
	free &= b.healthy
	if n <= 0 || n > free.Len() {
		return choice{}
	}
	return b.choices.of(free, n)
}
