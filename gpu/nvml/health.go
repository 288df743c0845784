package nvml

import (
	"fmt"
	"slices"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// harmlessXids are the Xid errors that an application causes by itself or that the device recovers from: the list that
// NVIDIA's own device plugin ignores. Every other Xid makes the device unhealthy.
var harmlessXids = []uint64{
	13,  // graphics engine exception
	31,  // GPU memory page fault
	43,  // GPU stopped processing
	45,  // preemptive cleanup, due to previous errors
	68,  // video processor exception
	109, // context switch timeout
}

// classifyXid returns what an event means and whether its device may get new work. An event without an Xid asks for a new
// inventory, which has more information.
func classifyXid(e protocol.Event) (why string, fatal bool) {
	if e.Xid == 0 {
		return e.Text, false
	}
	if slices.Contains(harmlessXids, e.Xid) {
		return fmt.Sprintf("Xid %d, an error of the program that uses the GPU", e.Xid), false
	}
	return fmt.Sprintf("Xid %d: look it up in NVIDIA's list of Xid errors, reset or exchange the GPU, then restart pinion", e.Xid), true
}

// appendMissing appends the known devices that the driver no longer lists, as unhealthy.
func appendMissing(seen, known []gpu.Device, problem string) []gpu.Device {
	if problem == "" {
		problem = "the driver does not see this GPU any more: `dmesg` shows what it says about it"
	}
	there := gpu.Inventory{Devices: seen}
	for _, d := range known {
		if _, ok := there.Device(d.UUID); !ok {
			d.Health, d.Problem = gpu.Unhealthy, problem
			seen = append(seen, d)
		}
	}
	return seen
}

// onEvent handles an event that the driver reported.
func (s *Source) onEvent(e protocol.Event) {
	why, fatal := classifyXid(e)
	s.log.Warn("the NVIDIA driver reported an error", "gpu", e.UUID, "error", why, "fatal", fatal)
	if fatal {
		s.mu.Lock()
		for _, uuid := range s.affected(e) {
			s.unhealthy[uuid] = why
		}
		s.mu.Unlock()
	}
	s.notifyChanged()
}

// affected returns the devices that an event is about: all of them when the driver cannot say which.
func (s *Source) affected(e protocol.Event) []string {
	if e.UUID != "" {
		return []string{e.UUID}
	}
	var all []string
	for _, d := range s.lastDevices {
		all = append(all, d.UUID)
	}
	return all
}
