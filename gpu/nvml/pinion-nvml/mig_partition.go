//go:build cgo

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu/mig"
)

// computeProfiles are, for the profiles of GPU instances that Pinion makes, those of a compute instance that has all of it. Others are variants of
// them, for video and graphics.
var computeProfiles = map[int]int{
	nvml.GPU_INSTANCE_PROFILE_7_SLICE:      nvml.COMPUTE_INSTANCE_PROFILE_7_SLICE,
	nvml.GPU_INSTANCE_PROFILE_4_SLICE:      nvml.COMPUTE_INSTANCE_PROFILE_4_SLICE,
	nvml.GPU_INSTANCE_PROFILE_3_SLICE:      nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE,
	nvml.GPU_INSTANCE_PROFILE_2_SLICE:      nvml.COMPUTE_INSTANCE_PROFILE_2_SLICE,
	nvml.GPU_INSTANCE_PROFILE_1_SLICE_REV2: nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE,
	nvml.GPU_INSTANCE_PROFILE_1_SLICE:      nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE,
}

// gpuInstance is a GPU instance of a card, with what it is of the card's layout.
type gpuInstance struct {
	mig.Instance
	id       int
	instance nvml.GpuInstance
	compute  int // profile of its compute instance
}

// profile is one of GPU instances of a card.
type profile struct {
	name    string
	info    nvml.GpuInstanceProfileInfo
	compute int
}

// profiles are the MIG profiles of the card.
func profiles(handle nvml.Device) (all []profile, err error) {
	memory, ret := handle.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("its memory cannot be read: %w", ret)
	}
	for id, compute := range computeProfiles {
		if info, ret := handle.GetGpuInstanceProfileInfo(id); ret == nvml.SUCCESS {
			all = append(all, profile{profileName(info, memory.Total), info, compute})
		}
	}
	return all, nil
}

// profileName is NVIDIA's name: the memory of a profile counts in eighths of the card's, in whole GB.
func profileName(info nvml.GpuInstanceProfileInfo, total uint64) string {
	eighths := math.Ceil(float64(info.MemorySizeMB<<20) / float64(total) * 8)
	gigabytes := (total + 1<<30 - 1) >> 30
	return fmt.Sprintf("%dg.%dgb", info.SliceCount, int(math.Round(eighths/8*float64(gigabytes))))
}

// instances are the GPU instances of a card that have one of the profiles.
func instances(handle nvml.Device, profiles []profile) (all []gpuInstance) {
	for _, p := range profiles {
		found, ret := handle.GetGpuInstances(&p.info)
		if ret != nvml.SUCCESS {
			continue // none of this profile
		}
		for _, instance := range found {
			if info, ret := instance.GetInfo(); ret == nvml.SUCCESS {
				all = append(all, gpuInstance{mig.Instance{Profile: p.name, Start: int(info.Placement.Start)}, int(info.Id), instance, p.compute})
			}
		}
	}
	return all
}

// starts are the first slices of memory of the card's GPU instances, by id.
func starts(handle nvml.Device) map[int]int {
	known, err := profiles(handle)
	if err != nil {
		return nil
	}
	byID := map[int]int{}
	for _, i := range instances(handle, known) {
		byID[i.id] = i.Start
	}
	return byID
}

// partition makes the MIG devices of the card be those of the layout.
func (d *driver) partition(uuid string, layout mig.Layout) error {
	if err := d.open(); err != nil {
		return err
	}
	handle, ret := d.lib.DeviceGetHandleByUUID(uuid)
	if ret != nvml.SUCCESS {
		return fmt.Errorf("GPU %s: %w", uuid, ret)
	}
	if len(layout) > 0 && !d.isPartitioned(handle) {
		if err := setMode(handle, nvml.DEVICE_MIG_ENABLE); err != nil {
			return err
		}
		if err := setInstances(handle, layout); err != nil {
			return errors.Join(err, setInstances(handle, nil), setMode(handle, nvml.DEVICE_MIG_DISABLE))
		}
		return nil
	}
	if d.isPartitioned(handle) {
		if err := setInstances(handle, layout); err != nil {
			return err
		}
	}
	if len(layout) == 0 && d.isPartitioned(handle) {
		return setMode(handle, nvml.DEVICE_MIG_DISABLE)
	}
	return nil
}

func setMode(handle nvml.Device, mode int) error {
	activation, ret := handle.SetMigMode(mode)
	if ret != nvml.SUCCESS {
		return fmt.Errorf("its MIG mode cannot be changed: %w", ret)
	}
	if activation != nvml.SUCCESS {
		return fmt.Errorf("its MIG mode changes with its next reset (%w): `pinion gpus reset` makes one", activation)
	}
	return nil
}

// setInstances removes the GPU instances that are not of the layout, and makes those that are missing.
func setInstances(handle nvml.Device, layout mig.Layout) error {
	known, err := profiles(handle)
	if err != nil {
		return err
	}
	missing := slices.Clone(layout)
	for _, have := range instances(handle, known) {
		if at := slices.Index(missing, have.Instance); at >= 0 {
			missing = slices.Delete(missing, at, at+1)
		} else if err := have.remove(); err != nil {
			return err
		}
	}
	for _, wanted := range missing {
		at := slices.IndexFunc(known, func(p profile) bool { return p.name == wanted.Profile })
		if at < 0 {
			return fmt.Errorf("it has no MIG profile %s", wanted.Profile)
		}
		if err := makeInstance(handle, &known[at], wanted); err != nil {
			return err
		}
	}
	return nil
}

// remove destroys the compute instances, and the GPU instance.
func (i *gpuInstance) remove() error {
	info, ret := i.instance.GetComputeInstanceProfileInfo(i.compute, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	if ret != nvml.SUCCESS {
		return fmt.Errorf("MIG device %s: %w", i.Instance, ret)
	}
	compute, _ := i.instance.GetComputeInstances(&info)
	for _, c := range compute {
		if ret := c.Destroy(); ret != nvml.SUCCESS {
			return fmt.Errorf("MIG device %s cannot be removed: %w", i.Instance, ret)
		}
	}
	if ret := i.instance.Destroy(); ret != nvml.SUCCESS {
		return fmt.Errorf("MIG device %s cannot be removed: %w", i.Instance, ret)
	}
	return nil
}

// makeInstance makes a GPU instance with one compute instance that has all of it. Without the second the first goes too.
func makeInstance(handle nvml.Device, p *profile, wanted mig.Instance) error {
	placements, ret := handle.GetGpuInstancePossiblePlacements(&p.info)
	if ret != nvml.SUCCESS {
		return fmt.Errorf("places for MIG devices %s: %w", wanted.Profile, ret)
	}
	at := slices.IndexFunc(placements, func(placement nvml.GpuInstancePlacement) bool { return int(placement.Start) == wanted.Start })
	if at < 0 {
		return fmt.Errorf("the driver has no place for %s", wanted)
	}
	made, ret := handle.CreateGpuInstanceWithPlacement(&p.info, &placements[at])
	if ret != nvml.SUCCESS {
		return fmt.Errorf("MIG device %s: %w", wanted, ret)
	}
	info, ret := made.GetComputeInstanceProfileInfo(p.compute, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	if ret == nvml.SUCCESS {
		_, ret = made.CreateComputeInstance(&info)
	}
	if ret != nvml.SUCCESS {
		made.Destroy()
		return fmt.Errorf("compute instance of MIG device %s: %w", wanted, ret)
	}
	return nil
}
