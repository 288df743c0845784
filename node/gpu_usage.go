package node

import (
	"context"
	"time"

	"pinion/gpu"
	"pinion/node/gpuusage"
	"pinion/packaging/tick"
)

// sample records how the GPUs are used, again and again until ctx ends. A driver that hangs costs samples and nothing else.
func (g *gpus) sample(ctx context.Context) {
	meter, ok := g.source.(gpu.Meter)
	if !ok {
		return
	}
	ticker := tick.New(gpuusage.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
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
		g.usage.Add(time.Now(), usages, devices)
	}
}

// GPUUsage is how the GPUs of this host are used.
func (n *Node) GPUUsage() gpu.LatestUsage { return n.config.GPUUsage.Latest(time.Now()) }

// GPUSamples is how a GPU was used after a time, in the last hour at most, the oldest sample first; none when this host does not have it.
func (n *Node) GPUSamples(uuid string, after time.Time) []gpu.UsageSample {
	return n.config.GPUUsage.Samples(uuid, after)
}
