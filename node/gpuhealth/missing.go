package gpuhealth

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"time"

	"pinion/gpu"
)

// missingGrace is the time after which a missing GPU counts as lost: drivers list the GPUs of a machine that boots one after the other.
const missingGrace = time.Minute

// maxKnown bounds the GPUs that the file keeps, unless the driver lists more. Those that are missing the longest go first.
const maxKnown = gpu.MaxDevices

// inventoryFile keeps the GPUs that this host has, or had, over restarts: a GPU that has vanished at a boot is missed.
type inventoryFile struct {
	path string
	log  *slog.Logger

	Source string               `json:"source"` // what `pinion up --gpus` says: another source has other GPUs
	GPUs   map[string]*knownGPU `json:"gpus"`   // by UUID
}

// knownGPU is a GPU that this host has, or had.
type knownGPU struct {
	Device  gpu.Device `json:"device"`
	Missing time.Time  `json:"missing,omitzero"` // since when the driver does not list it; zero: it does

	lost string // why its tasks end; "": they do not
}

func openInventory(path, source string, log *slog.Logger) (*inventoryFile, error) {
	f := &inventoryFile{path: path, log: log}
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the GPUs that this host had: %s: %w: if it is damaged, remove it; the host then forgets the GPUs that are missing now", path, err)
	}
	if f.Source != source || f.GPUs == nil {
		f.Source, f.GPUs = source, map[string]*knownGPU{}
	}
	return f, nil
}

func (f *inventoryFile) save() {
	if err := writeJSON(f.path, f); err != nil {
		f.log.Error("which GPUs this host has is not kept over a restart", "error", err)
	}
}

// remember takes over which GPUs the source lists. It returns those that were missing for as long as it takes to be lost, with the time since when.
func (f *inventoryFile) remember(listed []gpu.Device, now time.Time) (returned map[string]time.Time) {
	returned, changed := map[string]time.Time{}, false
	var added []gpu.Device
	for i := range listed {
		d := &listed[i]
		device := gpu.Device{UUID: d.UUID, Index: d.Index, PCI: d.PCI, Model: d.Model, MemoryMiB: d.MemoryMiB, NUMANode: d.NUMANode, ComputeCapability: d.ComputeCapability, MIGDevice: d.MIGDevice}
		known := f.GPUs[d.UUID]
		if known != nil { // a sick GPU may not tell it
			device.PCI, device.Model = cmp.Or(device.PCI, known.Device.PCI), cmp.Or(device.Model, known.Device.Model)
		}
		switch {
		case known == nil:
			added = append(added, device)
		case !known.Missing.IsZero() && now.Sub(known.Missing) >= missingGrace:
			returned[d.UUID] = known.Missing
		case known.Missing.IsZero() && reflect.DeepEqual(known.Device, device):
			continue
		}
		f.GPUs[d.UUID], changed = &knownGPU{Device: device}, true
	}
	for uuid, known := range f.GPUs {
		if !lists(listed, uuid) && known.Device.PartitionedAnew(listed) {
			f.log.Info("a GPU was partitioned anew", "device", uuid)
			delete(f.GPUs, uuid)
			changed = true
			continue
		}
		exchanged := func(d gpu.Device) bool { return d.UUID != uuid && d.PCI != "" && d.PCI == known.Device.PCI }
		if !lists(listed, uuid) && slices.ContainsFunc(added, exchanged) {
			f.log.Info("a GPU was replaced", "gpu", uuid, "pci", known.Device.PCI)
			delete(f.GPUs, uuid)
		}
	}
	if changed {
		f.save()
	}
	return returned
}

func lists(listed []gpu.Device, uuid string) bool {
	return slices.ContainsFunc(listed, func(d gpu.Device) bool { return d.UUID == uuid })
}

// missing are the known GPUs that the source does not list.
func (f *inventoryFile) missing(listed []gpu.Device, now time.Time) (all []*knownGPU) {
	changed := false
	for _, uuid := range f.byAbsence() {
		known := f.GPUs[uuid]
		switch {
		case lists(listed, uuid):
			continue
		case len(f.GPUs) > max(maxKnown, len(listed)):
			delete(f.GPUs, uuid)
			changed = true
			continue
		case known.Missing.IsZero():
			known.Missing, changed = now, true
		}
		all = append(all, known)
	}
	if changed {
		f.save()
	}
	return all
}

// byAbsence are the UUIDs of the GPUs, those that are missing the longest first.
func (f *inventoryFile) byAbsence() []string {
	return slices.SortedFunc(maps.Keys(f.GPUs), func(a, b string) int {
		x, y := f.GPUs[a].Missing, f.GPUs[b].Missing
		switch {
		case x.IsZero() && !y.IsZero():
			return 1
		case y.IsZero() && !x.IsZero():
			return -1
		}
		return cmp.Or(x.Compare(y), cmp.Compare(a, b))
	})
}

// device is the missing GPU as the pool sees it, with an index that no other GPU has.
func (k *knownGPU) device(index int, now time.Time) gpu.Device {
	d := k.Device
	d.Index, d.Minor = index, -1
	since := k.Missing.UTC().Format(time.RFC3339)
	if now.Sub(k.Missing) < missingGrace {
		d.Health, d.Problem = gpu.Unhealthy, fmt.Sprintf("the driver has not listed it since %s: it is LOST after a minute", since)
	} else {
		d.Health = gpu.Lost
		d.Problem = fmt.Sprintf("the driver has not listed it since %s (PCI address %s): %s. If it was taken out: `pinion gpus forget %s`", since, d.PCI, gpu.Lost.RecoveryAction(), d.UUID)
	}
	return d
}

// addMissing shows the GPUs that are missing, and has those checked that were. Called with the lock held.
func (r *Record) addMissing(shown *gpu.Inventory, listed []gpu.Device, now time.Time) {
	for uuid, since := range r.known.remember(listed, now) {
		r.add(uuid, condition{Health: gpu.Suspect, Since: now, Problem: fmt.Sprintf("the driver did not list it from %s to %s", since.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))})
	}
	next := 0
	for i := range listed {
		next = max(next, listed[i].Index+1)
	}
	for i, known := range r.known.missing(listed, now) {
		d := known.device(next+i, now)
		if c := r.sick[d.UUID]; c != nil {
			d.Problem += "; before: " + c.text()
		}
		if d.Health == gpu.Lost && known.lost == "" {
			known.lost = d.Problem
			r.log.Warn("a GPU is missing", "gpu", d.UUID, "model", d.Model, "problem", d.Problem)
			r.end(d.UUID, d.Problem)
		}
		shown.Devices = append(shown.Devices, d)
	}
}

// Forget forgets a GPU that is missing: it was taken out. gpu.ErrPresent; false when this host never had it.
func (r *Record) Forget(uuid string) (had bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known.GPUs[uuid]
	switch {
	case known == nil:
		return false, nil
	case known.Missing.IsZero():
		return true, gpu.ErrPresent
	}
	delete(r.known.GPUs, uuid)
	r.known.save()
	if r.sick[uuid] != nil {
		delete(r.sick, uuid)
		r.save()
	}
	r.wake()
	return true, nil
}
