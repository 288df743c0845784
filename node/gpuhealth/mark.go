package gpuhealth

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"pinion/gpu"
)

// Mark shows the GPUs that wait for a check as sick in their source's inventory, and remembers those that are sick in it already. GPUs that it
// lists no more are shown behind the others. It changes nothing of what it is given.
func (r *Record) Mark(inventory gpu.Inventory, now time.Time) gpu.Inventory {
	r.mu.Lock()
	defer r.mu.Unlock()
	shown := inventory
	shown.Devices = slices.Clone(inventory.Devices)
	clear(r.present)
	listed := inventory.Problem == "" || len(inventory.Devices) > 0 // a driver that cannot be asked lists nothing, which does not make its GPUs missing
	if listed {
		r.addMissing(&shown, inventory.Devices, now)
	}
	for i := range inventory.Devices {
		d := &shown.Devices[i]
		r.present[d.UUID] = true
		r.markHung(d, now)
		if slices.Contains(severity, d.Health) {
			r.recordHealth(d, now)
		} else if c := r.sick[d.UUID]; c != nil && c.inInventory {
			c.inInventory, c.failed, c.lastCheck = false, 0, time.Time{} // it looks well again: check it now
			r.wake()
		}
		if c := r.sick[d.UUID]; c != nil && (d.Health != gpu.Unhealthy || r.isHung(d.UUID)) {
			d.Health, d.Problem = c.Health, c.text()
		}
	}
	if listed {
		r.answerGone(shown)
	}
	maps.DeleteFunc(r.hung, func(uuid string, _ time.Time) bool { return !r.present[uuid] })
	maps.DeleteFunc(r.lastXid, func(uuid string, _ uint64) bool { _, has := shown.Device(uuid); return !has })
	return shown
}

// answerGone answers who has asked for a check of a GPU that is gone: it cannot be checked any more.
func (r *Record) answerGone(shown gpu.Inventory) {
	for uuid, outcome := range r.requested {
		d, has := shown.Device(uuid)
		if !outcome.Done && (!has || d.Health == gpu.Lost && !r.present[uuid]) {
			r.requested[uuid] = gpu.CheckOutcome{Done: true, Problem: cmp.Or(d.Problem, "this host does not have it any more")}
		}
	}
}

// LastXid is the number of the last error that the driver has told of a GPU since the agent was started; 0: of none.
func (r *Record) LastXid(uuid string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lastXid[uuid]
}

// recordHealth remembers the health that a source reports of a device.
func (r *Record) recordHealth(d *gpu.Device, now time.Time) {
	known := r.sick[d.UUID]
	if known != nil && slices.Index(severity, known.Health) >= slices.Index(severity, d.Health) {
		known.inInventory = true
		return
	}
	r.add(d.UUID, condition{Health: d.Health, Problem: d.Problem, Since: now, EndsTasks: d.Health == gpu.Lost, inInventory: true})
	if d.Health == gpu.Lost {
		r.end(d.UUID, d.Problem)
	}
}

// text describes the condition, with the finding of the last check.
func (c *condition) text() string {
	if c.result == "" {
		return c.Problem
	}
	return c.Problem + "; last check: " + c.result
}
