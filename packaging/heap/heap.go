// Package heap sets how much the heap of this process may grow between two garbage collections, which is one setting for the whole process.
// Go lets it double. That is much work for a heap with a large state, which is marked each time, and for a small heap that fills with garbage
// many times a second.
package heap

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"pinion/packaging/tick"
)

const (
	period      = 5 * time.Second
	usualGrowth = 100 // percent of what lives, as Go has it

	// A small heap that is collected each second or more often may grow to busySize, on a machine that has busyShare times as much.
	busySize  = 32 << 20 // bytes
	busyShare = 32
)

// largeHeaps are the growths of larger heaps, the greatest growth first. A grown heap takes at most a share of the machine's memory: the rest is for tasks.
var largeHeaps = []struct {
	live   uint64 // bytes at least
	growth uint64 // percent of them
	share  uint64 // of the memory: one of so many parts
}{
	{live: 64 << 20, growth: 300, share: 16},
	{live: 256 << 20, growth: 200, share: 4},
}

// Adjust sets the collector's target every few seconds until ctx ends, unless the environment sets it (GOGC).
func Adjust(ctx context.Context) {
	memory := Memory()
	if os.Getenv("GOGC") != "" || memory == 0 {
		return
	}
	tick := tick.New(period)
	defer tick.Stop()
	last, set, allocated := time.Now(), uint64(usualGrowth), read("/gc/heap/allocs:bytes")
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now, total := time.Now(), read("/gc/heap/allocs:bytes")
		garbage := uint64(float64(total-allocated) / max(now.Sub(last).Seconds(), 1))
		last, allocated = now, total
		if growth := growthFor(Live(), garbage, memory); growth != set {
			set = growth
			debug.SetGCPercent(int(growth))
		}
	}
}

// growthFor is the allowed growth of the heap between two collections, in percent of the live bytes. garbage is the bytes that it allocates in a second.
func growthFor(live, garbage, memory uint64) uint64 {
	for _, wide := range largeHeaps {
		if live >= wide.live && live+live*wide.growth/100 <= memory/wide.share {
			return wide.growth
		}
	}
	if live > 0 && live < busySize/2 && garbage >= live && busySize <= memory/busyShare {
		return (busySize - live) * 100 / live
	}
	return usualGrowth
}

// Live returns the bytes that the last collection found alive.
func Live() uint64 { return read("/gc/heap/live:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Memory returns the machine's memory in bytes; 0 when the kernel does not report it.
func Memory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
