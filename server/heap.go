package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"pinion/packaging/tick"
)

// A leader that records thousands of tasks a second produces much garbage. Each time the heap has doubled, the collector marks
// the whole live state, and meanwhile the leader has a third of its throughput. So a large heap may grow to three times its
// live bytes instead of twice; a small heap keeps Go's default.
const (
	heapPeriod = 5 * time.Second
	largeHeap  = 256 << 20 // bytes that live
	usualRoom  = 100       // percent of what lives, as Go has it
	largeRoom  = 200
	heapShare  = 4 // a large heap with its room takes at most a quarter of the machine's memory: that is for tasks
)

// heapRoom is the last value given to the collector, which is global to the process.
var heapRoom atomic.Int64

// watchHeap adjusts the collector's target to the heap, unless the environment sets it.
func (s *Server) watchHeap(ctx context.Context) {
	memory := totalMemory()
	if os.Getenv("GOGC") != "" || memory == 0 {
		return
	}
	tick := tick.New(heapPeriod)
	defer tick.Stop()
	for {
		if room := roomFor(liveHeap(), memory); heapRoom.Swap(room) != room {
			debug.SetGCPercent(int(room))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// roomFor is how much the heap may grow between two collections, in percent of the bytes that live.
func roomFor(live, memory uint64) int64 {
	if live >= largeHeap && live+live*largeRoom/100 <= memory/heapShare {
		return largeRoom
	}
	return usualRoom
}

// liveHeap returns the live bytes found by the last collection.
func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// totalMemory returns the machine's memory in bytes; 0 when the kernel does not report it.
func totalMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
