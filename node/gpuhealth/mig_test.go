package gpuhealth_test

import (
	"testing"
	"time"

	"pinion/gpu"
)

// A GPU that is partitioned anew has other MIG devices, or none: nothing is missing. Of one that vanishes its MIG devices are.
func TestAGPUThatIsPartitionedAnewIsNotMissing(t *testing.T) {
	part := func(uuid, parent string) gpu.Device {
		return gpu.Device{UUID: uuid, PCI: "0000:0" + parent[len(parent)-1:], Health: gpu.Healthy, MIGDevice: &gpu.MIGDevice{Parent: parent, Profile: "3g.40gb"}}
	}
	listed := func(devices ...gpu.Device) (inventory gpu.Inventory) {
		for i := range devices {
			devices[i].Index = i
		}
		inventory.Devices = devices
		return inventory
	}
	r := newRecord(t)
	wantShown(t, r, machine("GPU-0"), start, "GPU-0 HEALTHY")
	wantShown(t, r, listed(part("MIG-1", "GPU-0"), part("MIG-2", "GPU-0")), start, "MIG-1 HEALTHY", "MIG-2 HEALTHY")
	wantShown(t, r, listed(part("MIG-2", "GPU-0"), part("MIG-3", "GPU-0")), start, "MIG-2 HEALTHY", "MIG-3 HEALTHY")
	wantShown(t, r, machine("GPU-1"), start.Add(time.Hour), "GPU-1 HEALTHY", "MIG-2 UNHEALTHY", "MIG-3 UNHEALTHY")
	wantShown(t, r, machine("GPU-0", "GPU-1"), start.Add(time.Hour), "GPU-0 HEALTHY", "GPU-1 HEALTHY")
}

// An error of a partitioned GPU is one of each of its MIG devices, and of no other.
func TestAnErrorOfAGPUIsOneOfItsMIGDevices(t *testing.T) {
	r := newRecord(t)
	listed := machine("MIG-1", "MIG-2", "GPU-0")
	for i := range 2 {
		listed.Devices[i].MIGDevice = &gpu.MIGDevice{Parent: "GPU-9", Index: i, Profile: "3g.40gb"}
	}
	r.AddFault(gpu.Fault{UUID: "GPU-9", Xid: 79}, listed.Devices, start)
	wantShown(t, r, listed, start, "MIG-1 LOST", "MIG-2 LOST", "GPU-0 HEALTHY")
	r = newRecord(t)
	r.AddFault(gpu.Fault{UUID: "MIG-2", Xid: 119}, listed.Devices, start)
	wantShown(t, r, listed, start, "MIG-1 HEALTHY", "MIG-2 NEEDS_RESET", "GPU-0 HEALTHY")
}
