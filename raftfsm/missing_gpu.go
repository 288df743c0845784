package raftfsm

import (
	"fmt"
	"slices"

	"pinion/gpu"
)

// keepMissingGPUs is a host's new inventory with the devices that are not in it any more although a task holds them: they stay
// on record, unhealthy and with the reason, until nobody holds them. Without that a GPU would vanish under its task and
// nobody could see why.
func (tx *tx) keepMissingGPUs(now, before gpu.Inventory, hostID string) gpu.Inventory {
	owners := map[string]string{}
	for _, t := range tx.liveTasksOn(hostID) {
		for _, uuid := range t.GPUs() {
			owners[uuid] = t.ID
		}
	}
	devices := slices.Clone(now.Devices)
	for _, d := range before.Devices {
		owner := owners[d.UUID]
		if _, there := now.Device(d.UUID); there || owner == "" {
			continue
		}
		d.Health, d.Problem = gpu.Unhealthy, fmt.Sprintf("the host does not have it any more, task %s holds it", owner)
		devices = append(devices, d)
	}
	now.Devices = devices
	return now
}
