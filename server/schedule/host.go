package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// Host is a host as the planner sees it.
type Host struct {
	Host      *spec.Host
	Free      spec.Free // what its tasks leave
	Connected bool      // heard of lately
	// Tasks are the host's, STOPPED ones or not. It is asked once. Nil: there are none.
	Tasks func() []*spec.Task

	tasks    []*spec.Task // those that are not STOPPED, by id; those that were planned here included
	board    gpu.Topology
	idle     gpu.DeviceSet // Free.GPUs
	topology topology
	// Kept by its crew: its place there, and the number of its last change.
	at, lastChange int
}

// readInventory takes in what the host says of itself and of its GPUs.
func (h *Host) readInventory(boards *gpu.TopologyCache) {
	h.board = boards.Topology(h.Host.GPUs.Devices)
	h.idle = h.board.HealthySet(h.Free.GPUs)
	h.topology = topologyOf(h.Host)
}

// derive finds anew what the tasks leave.
func (h *Host) derive() {
	h.Free = spec.NewFree(h.Host, h.tasks)
	h.idle = h.board.HealthySet(h.Free.GPUs)
}

// assume gives the task what it takes; it fits.
func (h *Host) assume(t *spec.Task) {
	at, _ := h.find(t.ID)
	h.tasks = slices.Insert(h.tasks, at, t)
	h.Free.Take(t)
	for i := range t.Containers {
		h.idle &^= h.board.HealthySet(t.Containers[i].GPUs)
	}
}

// release takes back what the task has. Ports are the host's too, so what is left of them has to be found anew.
func (h *Host) release(at int) {
	t := h.tasks[at]
	h.tasks = slices.Delete(h.tasks, at, at+1)
	if h.Host.Lost() || len(t.Ports)+len(t.UDPPorts) > 0 {
		h.derive()
		return
	}
	h.Free.CPU += t.CPU
	h.Free.MemoryMiB += t.MemoryMiB
	if given := h.board.HealthySet(t.GPUs()); given != 0 {
		h.idle |= given &^ h.assumedGPUs()
		h.Free.GPUs = h.board.UUIDs(h.idle)
	}
}

// assumedGPUs are the GPUs that tasks have. What was planned can have lost its GPUs to a task that came between.
func (h *Host) assumedGPUs() (all gpu.DeviceSet) {
	for _, task := range h.tasks {
		for i := range task.Containers {
			all |= h.board.HealthySet(task.Containers[i].GPUs)
		}
	}
	return all
}

func (h *Host) find(taskID string) (at int, known bool) {
	return slices.BinarySearchFunc(h.tasks, taskID, func(t *spec.Task, id string) int { return cmp.Compare(t.ID, id) })
}
