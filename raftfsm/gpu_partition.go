package raftfsm

import (
	"fmt"
	"slices"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm/partition"
	"pinion/raftfsm/spec"
)

// SetGPUPartition has a host partition one of its GPUs: into the MIG devices of the layout, or, when that is empty, into none. Those that it has and
// that are of the layout stay. ErrNotFound for the host and for the GPU; ErrInUse when a device would go that a task has which is not STOPPED, or that is
// not healthy, when the host lets the pool partition none, and when others have partitioned the GPU; an error for a layout that no GPU has. Answer: *Host.
type SetGPUPartition struct {
	HostID string
	UUID   string // of the whole GPU
	Layout mig.Layout
	At     time.Time
}

func (c SetGPUPartition) apply(tx *tx) (any, error) {
	known := tx.Host(c.HostID)
	if known == nil {
		return nil, fmt.Errorf("host %q: %w", c.HostID, spec.ErrNotFound)
	}
	own := slices.DeleteFunc(slices.Clone(known.GPUs.Devices), func(d gpu.Device) bool { return !d.IsOf(c.UUID) })
	before := known.Partitions.Find(c.UUID)
	switch {
	case len(own) == 0:
		return nil, fmt.Errorf("GPU %q of host %s: %w", c.UUID, known.Name, spec.ErrNotFound)
	case !known.GPUs.DynamicMIG:
		return nil, fmt.Errorf("%w: host %s does not let the pool partition its GPUs (pinion up --mig dynamic)", spec.ErrInUse, known.Name)
	case before == nil && own[0].MIGDevice != nil:
		return nil, fmt.Errorf("%w: the MIG devices of GPU %s of host %s are not the pool's", spec.ErrInUse, c.UUID, known.Name)
	case before == nil && len(known.Partitions) >= partition.MaxGPUs:
		return nil, fmt.Errorf("the pool partitions %d GPUs of host %s, which is the most", partition.MaxGPUs, known.Name)
	case before != nil && slices.Equal(before.Layout, c.Layout) || before == nil && len(c.Layout) == 0:
		return known, nil
	}
	if err := c.checkLayout(); err != nil {
		return nil, err
	}
	host := *known
	host.Partitions = known.Partitions.Set(partition.GPU{UUID: c.UUID, Layout: c.Layout, At: c.At}).Prune(known.GPUs)
	live := tx.liveTasksOn(c.HostID)
	for i := range own {
		if !host.Partitions.Removes(&own[i]) {
			continue
		}
		holds := func(t *spec.Task) bool { return slices.Contains(t.GPUs(), own[i].UUID) }
		if at := slices.IndexFunc(live, holds); at >= 0 {
			return nil, fmt.Errorf("%w: task %s has GPU %s of host %s", spec.ErrInUse, live[at].ID, own[i].Number(), known.Name)
		}
		if d := &own[i]; d.Health != gpu.Healthy && !d.EmptyMIG && !known.Partitions.Removes(d) {
			return nil, fmt.Errorf("%w: GPU %s of host %s is %s, and its slices would go to tasks without a check", spec.ErrInUse, d.Number(), known.Name, d.Health)
		}
	}
	return tx.updateHost(&host), nil
}

const (
	maxMIGDevices   = 8  // of a GPU
	maxProfileBytes = 32 // of the name of a profile
)

// checkLayout checks what every version of Pinion does. Whether a model has such a layout its host knows; the proposer looks that up in a table, which
// may be another one in the next version.
func (c *SetGPUPartition) checkLayout() error {
	starts := map[int]bool{}
	for _, i := range c.Layout {
		if i.Start < 0 || i.Start >= maxMIGDevices || starts[i.Start] || i.Profile == "" || len(i.Profile) > maxProfileBytes {
			return fmt.Errorf("GPU %s cannot be partitioned into %s", c.UUID, c.Layout)
		}
		starts[i.Start] = true
	}
	return nil
}
