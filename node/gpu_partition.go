package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/packaging/tick"
	"pinion/raftfsm/partition"
)

const (
	// partitionInterval is the time between two questions for the wanted partitions of a host's GPUs.
	partitionInterval = time.Second
	// partitionTimeout bounds how long a driver takes to partition a GPU.
	partitionTimeout = time.Minute
	// lockTimeout bounds how long a GPU that is to be partitioned waits for a task that still has it.
	lockTimeout = 5 * time.Second
	// partitionRetry is the time between two tries of the same layout.
	partitionRetry = 10 * time.Second
	// partitionOwner owns the devices of a GPU while it is partitioned, as a task does.
	partitionOwner = "partition of GPU "
)

// Partitions reads the partitions that the pool wants of a host's GPUs.
type Partitions interface {
	GPUPartitions(ctx context.Context, hostID string) (partition.List, error)
}

// failedPartition is a layout that failed on a GPU, and why.
type failedPartition struct {
	layout  mig.Layout
	problem string
	at      time.Time
}

// partitionLoop partitions GPUs as the pool wants it, until ctx ends. It compares what is with what is wanted, so it goes on after a restart, and a failure
// is tried again.
func (g *GPUs) partitionLoop(ctx context.Context) {
	partitioner, able := g.source.(gpu.Partitioner)
	if g.partitions == nil || !able {
		return
	}
	ticker := tick.New(partitionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		wanted, err := g.partitions.GPUPartitions(ctx, g.hostID)
		if err != nil {
			continue // the host is not connected, which others tell
		}
		if g.forgetFailures(wanted) && g.read(ctx) == nil {
			g.publish()
		}
		for _, w := range wanted {
			if g.partition(ctx, partitioner, w) {
				break // what the pool wants of the others may be another thing by now
			}
		}
	}
}

// partition gives a GPU the wanted layout, and reports whether there was something to do. Why it cannot is the problem of the devices that were to go.
func (g *GPUs) partition(ctx context.Context, partitioner gpu.Partitioner, wanted partition.GPU) (tried bool) {
	devices := slices.DeleteFunc(slices.Clone(g.current().Devices), func(d gpu.Device) bool { return !d.IsOf(wanted.UUID) })
	if len(devices) == 0 || slices.Equal(g.current().Layout(wanted.UUID), wanted.Layout) {
		return false
	}
	if g.hasFailedLately(wanted) {
		return false
	}
	err := g.partitionLocked(ctx, partitioner, wanted, devices)
	if ctx.Err() != nil {
		return true
	}
	g.noteOutcome(wanted, err)
	if g.read(ctx) == nil {
		g.publish()
	}
	return true
}

// noteOutcome logs the outcome of a try, and keeps why it failed.
func (g *GPUs) noteOutcome(wanted partition.GPU, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.log.Info("a GPU was partitioned", "gpu", wanted.UUID, "layout", wanted.Layout.String())
		delete(g.failedPartitions, wanted.UUID)
		return
	}
	g.log.Error("a GPU cannot be partitioned", "gpu", wanted.UUID, "layout", wanted.Layout.String(), "error", err)
	g.failedPartitions[wanted.UUID] = failedPartition{wanted.Layout, fmt.Sprintf("it cannot become what the pool wants (%s): %v", wanted.Layout, err), time.Now()}
}

// hasFailedLately reports whether the same layout was tried less than partitionRetry ago.
func (g *GPUs) hasFailedLately(wanted partition.GPU) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	failed, has := g.failedPartitions[wanted.UUID]
	return has && slices.Equal(failed.layout, wanted.Layout) && time.Since(failed.at) < partitionRetry
}

// partitionLocked holds the devices that go: no task may have them, and no process has them open.
func (g *GPUs) partitionLocked(ctx context.Context, partitioner gpu.Partitioner, wanted partition.GPU, devices []gpu.Device) error {
	var going []string
	for i := range devices {
		if list := (partition.List{wanted}); list.Removes(&devices[i]) {
			going = append(going, devices[i].UUID)
		}
	}
	locked, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	owner := partitionOwner + wanted.UUID
	if _, err := g.locks.Acquire(locked, owner, going, false); err != nil {
		return fmt.Errorf("a task still has it: %w", err)
	}
	defer g.locks.Abandon(owner)
	why := ""
	if err := g.locks.WaitIdle(locked, going, func(reason string) { why = reason }); err != nil {
		return fmt.Errorf("it is not idle: %s", why)
	}
	call, cancelCall := context.WithTimeout(ctx, partitionTimeout)
	defer cancelCall()
	return partitioner.Partition(call, wanted.UUID, wanted.Layout)
}

// forgetFailures forgets the failures of layouts that the pool does not want any more, and reports whether there were some.
func (g *GPUs) forgetFailures(wanted partition.List) (some bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := len(g.failedPartitions)
	maps.DeleteFunc(g.failedPartitions, func(uuid string, failed failedPartition) bool {
		own := wanted.Find(uuid)
		return own == nil || !slices.Equal(own.Layout, failed.layout)
	})
	return len(g.failedPartitions) < before
}

// withPartitions adds to the inventory whether the pool may partition the GPUs, and which cannot be. Called with the lock held.
func (g *GPUs) withPartitions(inventory gpu.Inventory) gpu.Inventory {
	_, able := g.source.(gpu.Partitioner)
	if g.partitions == nil || !able {
		return inventory
	}
	inventory.DynamicMIG = true
	inventory.Devices = slices.Clone(inventory.Devices)
	for uuid, failed := range g.failedPartitions {
		for i := range inventory.Devices {
			d := &inventory.Devices[i]
			if d.Health == gpu.Healthy && (partition.List{{UUID: uuid, Layout: failed.layout}}).Removes(d) {
				d.Health, d.Problem = gpu.Unhealthy, failed.problem
			}
		}
	}
	return inventory
}
