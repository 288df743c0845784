package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"pinion/gpu"
	"pinion/node/gpuhealth"
	"pinion/node/gpulock"
	"pinion/node/gpuusage"
	"pinion/packaging/tick"
)

const (
	// inventoryTimeout is for a driver that hangs: the host then joins without GPUs and says why.
	inventoryTimeout = 20 * time.Second
	// inventoryInterval is the time between two readings of the inventory without a signal: a driver records things that it does not report.
	inventoryInterval = 30 * time.Second
)

// GPUs are the GPUs of this host, as their source lists them and as the agent remembers them. Their exported methods are safe for concurrent use.
type GPUs struct {
	source gpu.Source
	record *gpuhealth.Record
	usage  *gpuusage.Record
	locks  *gpulock.Locks
	log    *slog.Logger
	rejoin func()                                                                // has the pool learn of them
	count  func(usage map[string]gpu.Usage, passed time.Duration, now time.Time) // for the tasks that have them

	mu        sync.Mutex
	inventory gpu.Inventory // as the source says
	shown     gpu.Inventory // with what is remembered
	recorded  gpu.Inventory // as the pool has recorded them last

	recordedCh chan struct{} // closed and replaced when it has

	partitions       Partitions // nil: the pool partitions none
	hostID           string
	failedPartitions map[string]failedPartition // by UUID of the whole GPU: of those whose last try failed
}

// current are the GPUs as the pool shall know them.
func (g *GPUs) current() gpu.Inventory {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shown
}

// watch reads the inventory again each time its source signals a change, and from time to time.
func (g *GPUs) watch(ctx context.Context) {
	ticker := tick.New(inventoryInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case _, open := <-g.source.Changed():
			if !open {
				return
			}
			g.takeFaults()
		}
		if g.read(ctx) != nil {
			return
		}
		g.publish()
	}
}

// takeFaults records the faults that the driver has reported. That does not wait for an inventory, which takes a driver in trouble long.
func (g *GPUs) takeFaults() {
	source, ok := g.source.(gpu.FaultSource)
	if !ok {
		return
	}
	devices := g.current().Devices
	for _, fault := range source.Faults() {
		g.record.AddFault(fault, devices, time.Now())
	}
	g.publish()
}

// read reads the host's GPUs. A source that fails is a state of the host, not an error; the only error is that of
// ctx.
func (g *GPUs) read(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	inventory, err := g.source.Inventory(call)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.log.Error("the GPUs of this host cannot be read", "error", err)
		inventory = markUnhealthy(g.inventory, err)
	}
	g.inventory = g.withPartitions(inventory).Bounded()
	return nil
}

// mark shows the GPUs as their source says, with what is remembered of them. It reports whether that is news.
func (g *GPUs) mark() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	marked := g.record.Mark(g.inventory, time.Now())
	if reflect.DeepEqual(g.shown, marked) {
		return false
	}
	g.shown = marked
	return true
}

// publish is mark, and has the pool learn of the news.
func (g *GPUs) publish() {
	if g.mark() {
		g.rejoin()
	}
}

// markUnhealthy returns the last inventory with every GPU unhealthy, for a source that cannot be read: the GPUs stay known,
// and get no new work. A driver that has not answered in time hangs for all of them.
func markUnhealthy(last gpu.Inventory, err error) gpu.Inventory {
	health, problem := gpu.Unhealthy, "its state cannot be read: "+err.Error()
	last.Problem = err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		health, problem = gpu.Hung, err.Error()
		last.Problem = fmt.Sprintf("the driver of the GPUs has not answered within %v: it hangs, `dmesg` may say why; reboot the host if it does not end", inventoryTimeout)
	}
	last.Devices = slices.Clone(last.Devices)
	for i := range last.Devices {
		last.Devices[i].Health, last.Devices[i].Problem = health, problem
	}
	return last
}

// endOldSharing ends the sharing of GPUs that no container has shares of any more. One that cannot be ended is tried again by the next task of
// the GPU; the only error is that of ctx.
func endOldSharing(ctx context.Context, c Config, locks *gpulock.Locks) error {
	if c.Sharer == nil {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	if err := c.Sharer.EndOthers(call, locks.Shared()); err != nil {
		c.Log.Error("GPUs that were shared are not given back yet", "error", err)
	}
	return ctx.Err()
}
