package server

import (
	"fmt"

	"pinion/packaging/heap"
	"pinion/raftfsm/spec"
)

// stateShare is the part of the machine's memory that the live heap of a server may take, one of so many parts: the collector may take as much
// again, and the rest is for tasks, which the kernel would end before pinion.
const stateShare = 4

// checkStateMemory refuses to add to the state while the live heap has its share of the memory.
func checkStateMemory() error { return stateMemory(heap.Live(), heap.Memory()) }

func stateMemory(live, memory uint64) error {
	if memory == 0 || live <= memory/stateShare {
		return nil
	}
	return fmt.Errorf("%w: %d MiB of %d; stop tasks, and delete services and revisions of task definitions that nobody needs; limits of keys keep one user from filling it (`pinion key create --max-waiting --max-revisions`)",
		spec.ErrStateFull, live>>20, memory>>20)
}
