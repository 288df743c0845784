package consensus

import (
	"fmt"

	"pinion/packaging/heap"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// stateShare is the part of the machine's memory that the live heap of a server may take, one of so many parts: the collector may take as much
// again, and the rest is for tasks, which the kernel would end before pinion.
const stateShare = 4

// CheckStateMemory refuses to add to the state, which view shows, while the live heap has its share of the memory: see Config.CheckMemory.
func CheckStateMemory(view *raftfsm.View) error {
	return stateMemory(heap.Live(), leastMemory(heap.Memory(), view.Servers()))
}

// leastMemory is the memory of the machine that has the least: every server holds the state, and the kernel of a smaller one than the leader's would
// end its tasks, and then it. What others have is what they have for tasks, somewhat less.
func leastMemory(own uint64, servers []*spec.Host) uint64 {
	for _, host := range servers {
		if has := uint64(host.MemoryMiB) << 20; has > 0 && (own == 0 || has < own) {
			own = has
		}
	}
	return own
}

func stateMemory(live, memory uint64) error {
	if memory == 0 || live <= memory/stateShare {
		return nil
	}
	return fmt.Errorf("%w: %d MiB of %d; stop tasks, and delete services and revisions of task definitions that nobody needs; limits of keys keep one user from filling it (`pinion key create --max-waiting --max-revisions`)",
		spec.ErrStateFull, live>>20, memory>>20)
}
