package partition

import (
	"fmt"
	"slices"

	"pinion/gpu"
	"pinion/gpu/mig"
)

// Candidate is a GPU that the pool may partition: whole, or partitioned by the pool before.
type Candidate struct {
	Whole   gpu.Device // the GPU as it is, or would be, without MIG devices
	Layout  mig.Layout // that it has, or is to have
	devices []gpu.Device
}

// Candidates are the GPUs that the pool may partition, of a host with these devices and these partitions: none of a host that does not allow it. GPUs
// that others have partitioned are none of the pool's, nor are those without MIG.
func Candidates(inventory gpu.Inventory, list List) (all []Candidate) {
	if !inventory.DynamicMIG {
		return nil
	}
	at := map[string]int{} // by the UUID of the GPU
	for _, d := range inventory.Devices {
		own := list.Find(d.GPU())
		if mig.Profiles(d.Model) == nil || d.MIGDevice != nil && own == nil {
			continue
		}
		i, known := at[d.GPU()]
		if !known {
			i = len(all)
			at[d.GPU()] = i
			all = append(all, Candidate{Whole: wholeOf(d)})
			if own != nil {
				all[i].Layout = own.Layout
			}
		}
		all[i].devices = append(all[i].devices, d)
	}
	return all
}

// wholeOf is the GPU of a device, as far as that tells it. The links of a GPU that is partitioned are not known.
func wholeOf(d gpu.Device) gpu.Device {
	if d.MIGDevice != nil {
		d.UUID, d.MemoryMiB, d.MIGDevice = d.MIGDevice.Parent, d.MIGDevice.ParentMemoryMiB, nil
	}
	return d
}

// leastMemory is the percentage of its slices of memory that a MIG device has at least: some is the driver's. One that is not there yet promises no more,
// or it would be made for a task that cannot have it.
const leastMemory = 93

// Device is the MIG device of the card that is, or would be, the instance. One that is not there yet has a name of its own in place of a UUID.
func (c *Candidate) Device(i mig.Instance) gpu.Device {
	for _, d := range c.devices {
		if d.MIGDevice != nil && d.MIGDevice.Instance() == i {
			return d
		}
	}
	d := c.Whole
	if d.EmptyMIG {
		d.Health, d.Problem, d.EmptyMIG = gpu.Healthy, "", false
	}
	d.UUID, d.Links = fmt.Sprintf("%s/%s/%d", c.Whole.UUID, i.Profile, i.Start), ""
	d.MIGDevice = &gpu.MIGDevice{Parent: c.Whole.UUID, ParentMemoryMiB: c.Whole.MemoryMiB, Index: i.Start, Profile: i.Profile, Start: i.Start}
	for _, p := range mig.Profiles(c.Whole.Model) {
		if p.Name == i.Profile {
			d.MemoryMiB = p.MemoryMiB(c.Whole.MemoryMiB) * leastMemory / 100
		}
	}
	return d
}

// filled is as many MIG devices of the profile as there are places.
func (c *Candidate) filled(profile string) (l mig.Layout) {
	for {
		added, ok := l.Add(c.Whole.Model, profile)
		if !ok {
			return l
		}
		l = l.With(added)
	}
}

// Profiles are the names of the profiles that the cards have, the smallest first.
func Profiles(cards []Candidate) (names []string) {
	for i := range cards {
		for _, p := range slices.Backward(mig.Profiles(cards[i].Whole.Model)) {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// With is the inventory with each card in its layout: layouts has one for each, in their order.
func With(inventory gpu.Inventory, cards []Candidate, layouts []mig.Layout) gpu.Inventory {
	isOfCard := func(d gpu.Device) bool {
		return slices.ContainsFunc(cards, func(c Candidate) bool { return d.IsOf(c.Whole.UUID) })
	}
	inventory.Devices = slices.DeleteFunc(slices.Clone(inventory.Devices), isOfCard)
	for i := range cards {
		if len(layouts[i]) == 0 {
			inventory.Devices = append(inventory.Devices, cards[i].Whole)
		}
		for _, instance := range layouts[i] {
			inventory.Devices = append(inventory.Devices, cards[i].Device(instance))
		}
	}
	return inventory
}

// Variants lists the inventories that a host with these devices could have: what it has, all cards whole, and all cards full of MIG devices of one profile.
func Variants(inventory gpu.Inventory, list List) []gpu.Inventory {
	cards := Candidates(inventory, list)
	if len(cards) == 0 {
		return []gpu.Inventory{inventory}
	}
	layouts := make([]mig.Layout, len(cards))
	all := []gpu.Inventory{inventory, With(inventory, cards, layouts)}
	for _, profile := range Profiles(cards) {
		for i := range cards {
			layouts[i] = cards[i].filled(profile)
		}
		all = append(all, With(inventory, cards, layouts))
	}
	return all
}
