package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"pinion/gpu"
	"pinion/node/gpuusage"
	"pinion/packaging/tick"
)

// sample records how the GPUs are used, again and again until ctx ends. A driver that hangs costs samples and nothing else.
func (g *GPUs) sample(ctx context.Context) {
	meter, ok := g.source.(gpu.Meter)
	if !ok {
		return
	}
	ticker := tick.New(gpuusage.Interval)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		passed := min(now.Sub(last), 2*gpuusage.Interval) // what was before is not known
		devices := g.current().Devices
		if len(devices) == 0 {
			continue
		}
		call, cancel := context.WithTimeout(ctx, gpuusage.Interval)
		usages, err := meter.Usage(call)
		cancel()
		if err != nil {
			g.usage.Fail(err)
			continue
		}
		last = now
		added := g.usage.Add(now, usages, devices)
		g.record.AddUsage(added, now)
		g.count(added, passed, now)
	}
}

// countGPUUsage adds to the totals of the tasks.
func (n *Node) countGPUUsage(usage map[string]gpu.Usage, passed time.Duration, now time.Time) {
	for _, r := range runningTasks(n) {
		r.Meter.Add(usage, passed, now)
	}
}

// runningTasks lists the tasks of an agent, those included that are stopping.
func runningTasks(n *Node) []*runningTask {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.runners))
}

// Inventory are the GPUs as the pool shall know them.
func (g *GPUs) Inventory() gpu.Inventory { return g.current() }

// LastXid is the number of the last error that the driver has told of a GPU since the agent was started; 0: of none.
func (g *GPUs) LastXid(uuid string) uint64 { return g.record.LastXid(uuid) }

// Usage is the latest usage of the GPUs of this host.
func (g *GPUs) Usage() gpu.LatestUsage { return g.usage.Latest(time.Now()) }

// Samples are the usage samples of a GPU after a time, of the last hour at most, the oldest first; none when this host does not have it.
func (g *GPUs) Samples(uuid string, after time.Time) []gpu.UsageSample {
	return g.usage.Samples(uuid, after)
}
