package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/pack"
)

// crew is the hosts of one cluster, and what is remembered so that a decision need not look at all of them: a board for
// each class of requests that came lately.
type crew struct {
	hosts     []*Host // by id
	changed   []int32 // hosts that are not what boards have of them, in the order of the changes
	forgotten int     // changes that came before these
	boards    map[class]*board
	decisions uint64
	popular   popularity
	waiting   map[string]pack.Shape // of the tasks that wait for a place, by id
	wirings   *gpu.Boards
}

// mostOptions is how many hosts of boards are remembered, of about 100 bytes each; but for fewestBoards one always has room.
const (
	mostOptions  = 1_000_000
	fewestBoards = 32
)

func newCrew(wirings *gpu.Boards) *crew {
	return &crew{boards: map[class]*board{}, waiting: map[string]pack.Shape{}, wirings: wirings}
}

func (c *crew) find(hostID string) (at int, known bool) {
	return slices.BinarySearchFunc(c.hosts, hostID, func(h *Host, id string) int { return cmp.Compare(h.Host.ID, id) })
}

// enter adds a host; its Free is what its tasks leave.
func (c *crew) enter(h *Host) {
	h.know(c.wirings)
	at, _ := c.find(h.Host.ID)
	c.hosts = slices.Insert(c.hosts, at, h)
	c.renumber(at)
	for _, task := range h.tasks {
		c.popular.note(shapeHeld(task), 1)
	}
}

func (c *crew) leave(h *Host) {
	c.hosts = slices.Delete(c.hosts, h.at, h.at+1)
	c.renumber(h.at)
	for _, task := range h.tasks {
		c.popular.note(shapeHeld(task), -1)
	}
}

// renumber follows a change in the list of hosts, from a place on. Boards go by place, so none is true any more.
func (c *crew) renumber(from int) {
	for at := from; at < len(c.hosts); at++ {
		c.hosts[at].at = at
	}
	clear(c.boards)
	c.forget(len(c.changed))
}

func (c *crew) hold(h *Host, t *spec.Task) {
	h.hold(t)
	c.popular.note(shapeHeld(t), 1)
	c.touch(h)
}

func (c *crew) release(h *Host, at int) {
	c.popular.note(shapeHeld(h.tasks[at]), -1)
	h.release(at)
	c.touch(h)
}

// touch notes that the host is not what it was.
func (c *crew) touch(h *Host) {
	if len(c.boards) == 0 {
		return
	}
	if len(c.changed) > 4*len(c.hosts)+mostFailures {
		c.forget(len(c.changed) / 2)
	}
	h.touched = c.forgotten + len(c.changed)
	c.changed = append(c.changed, int32(h.at))
}

// forget drops the oldest changes, and the boards that have not seen them.
func (c *crew) forget(oldest int) {
	for of, b := range c.boards {
		if b.upTo < oldest {
			delete(c.boards, of)
		} else {
			b.upTo -= oldest
		}
	}
	c.changed = slices.Delete(c.changed, 0, oldest)
	c.forgotten += oldest
}

// board is the one for the request, as the hosts are now.
func (c *crew) board(a *ask) *board {
	of := a.class()
	b := c.boards[of]
	if b == nil {
		c.makeRoom()
		b = newBoard(a.considerAll(c.hosts, runFilters))
		b.upTo = len(c.changed)
		c.boards[of] = b
	}
	c.decisions++
	b.used = c.decisions
	c.refresh(b, a)
	return b
}

// refresh considers again what has changed since the board was asked last.
func (c *crew) refresh(b *board, a *ask) {
	for ; b.upTo < len(c.changed); b.upTo++ {
		h := c.hosts[c.changed[b.upTo]]
		if h.touched == c.forgotten+b.upTo { // else it has changed again after this
			b.set(h.at, a.consider(h, runFilters))
		}
	}
}

// makeRoom drops the board that was not asked for longest.
func (c *crew) makeRoom() {
	if len(c.boards) < fewestBoards || (len(c.boards)+1)*len(c.hosts) <= mostOptions {
		return
	}
	var oldest class
	least := c.decisions + 1
	for of, b := range c.boards {
		if b.used < least {
			oldest, least = of, b.used
		}
	}
	delete(c.boards, oldest)
}
