package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

// Host is a host as the planner sees it.
type Host struct {
	Host      *spec.Host
	Free      spec.Free // resources that its tasks leave free
	Connected bool      // has a recent heartbeat
	// Tasks returns the host's tasks, with or without STOPPED ones. It is called once. Nil: no tasks.
	Tasks func() []*spec.Task

	listenerPorts []int             // of the pool, which no task may have
	daemons       []*criticalDaemon // that it could run

	tasks    []*spec.Task // not STOPPED, by id, including planned ones
	gpus     gpu.Topology
	idle     gpu.DeviceSet // Free.GPUs as a set
	mig      bool          // it has MIG devices
	location topology
	// Written by imageIndex: what the host has said, and the digests of it, sorted. Nil: it is not known.
	images       *blob.Images
	imageDigests []string
	// Written by clusterHosts: the index in its list, and the number of the last change.
	at, lastChange int
}

// readInventory derives GPU topology, idle GPUs and location from the host's record.
func (h *Host) readInventory(boards *gpu.TopologyCache) {
	h.gpus, h.mig = boards.Topology(h.Host.GPUs.Devices), hasMIG(h.Host)
	h.idle = h.gpus.HealthySet(h.Free.GPUs)
	h.location = topologyOf(h.Host)
}

// free is what its tasks and the listeners of the pool leave.
func (h *Host) free() spec.Free {
	free := spec.NewFree(h.Host, h.tasks)
	free.TakePorts(h.listenerPorts)
	return free
}

// derive recomputes the free resources from the tasks.
func (h *Host) derive() {
	h.Free = h.free()
	h.idle = h.gpus.HealthySet(h.Free.GPUs)
}

// assume takes the resources of a task, which must fit.
func (h *Host) assume(t *spec.Task) {
	at, _ := h.find(t.ID)
	h.tasks = slices.Insert(h.tasks, at, t)
	h.Free.Take(t)
	for i := range t.Containers {
		h.idle &^= h.gpus.HealthySet(t.Containers[i].GPUs)
	}
}

// release releases the resources of the task at index `at`. A port may also be used by the host itself, and a shared GPU by other
// tasks, so with either derive recomputes everything.
func (h *Host) release(at int) {
	t := h.tasks[at]
	h.tasks = slices.Delete(h.tasks, at, at+1)
	if h.Host.Lost() || len(t.Ports)+len(t.UDPPorts) > 0 || h.Free.Allocations() != nil {
		h.derive()
		return
	}
	h.Free.CPU += t.CPU
	h.Free.MemoryMiB += t.MemoryMiB
	if given := h.gpus.HealthySet(t.GPUs()); given != 0 {
		h.idle |= given &^ h.assumedGPUs()
		h.Free.GPUs = h.gpus.UUIDs(h.idle)
	}
}

// assumedGPUs returns the GPUs that the tasks hold. A planned task may share GPUs with a task that was recorded after the
// plan and won the conflict.
func (h *Host) assumedGPUs() (all gpu.DeviceSet) {
	for _, task := range h.tasks {
		for i := range task.Containers {
			all |= h.gpus.HealthySet(task.Containers[i].GPUs)
		}
	}
	return all
}

func (h *Host) find(taskID string) (at int, known bool) {
	return slices.BinarySearchFunc(h.tasks, taskID, func(t *spec.Task, id string) int { return cmp.Compare(t.ID, id) })
}
