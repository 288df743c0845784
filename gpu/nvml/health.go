package nvml

import (
	"fmt"
	"slices"

	"pinion/gpu/nvml/wire"
)

// harmlessXids are the Xid errors that a program in a container causes by itself, or that the device gets over; they are
// those that NVIDIA's own device plugin passes over. Every other one makes the device unfit for new work.
var harmlessXids = []uint64{
	13,  // graphics engine exception
	31,  // GPU memory page fault
	43,  // GPU stopped processing
	45,  // preemptive cleanup, due to previous errors
	68,  // video processor exception
	109, // context switch timeout
}

// classifyXid says what an event means and whether its device may get new work. An event without a number asks for another
// look at the inventory, which knows more.
func classifyXid(e wire.Event) (why string, fatal bool) {
	if e.Xid == 0 {
		return e.Text, false
	}
	if slices.Contains(harmlessXids, e.Xid) {
		return fmt.Sprintf("Xid %d, an error of the program that uses the GPU", e.Xid), false
	}
	return fmt.Sprintf("Xid %d: look it up in NVIDIA's list of Xid errors, reset or exchange the GPU, then restart pinion", e.Xid), true
}
