package main

import (
	"fmt"
	"math/rand/v2"
)

// drawn is the n-th id of a kind: 32 hex digits as if drawn by chance, the same in each run.
func drawn(kind, n int) string {
	chance := rand.NewPCG(uint64(kind), uint64(n))
	return fmt.Sprintf("%016x%016x", chance.Uint64(), chance.Uint64())
}

// hostID is the id of the n-th host that is no server.
func hostID(n int) string { return drawn(1, n) }

// tasksATick are made while the clock in the ids of tasks stands.
const tasksATick = 2000

// taskID is the id of the n-th task in the form that servers give: four digits that go on with time, four that are scattered, and
// chance. It decides how the trees of the state are laid out.
func taskID(n int) string {
	const scatter = 40503
	return fmt.Sprintf("%04x%04x", uint16(n/tasksATick), uint16(n*scatter)) + drawn(2, n)[8:]
}
