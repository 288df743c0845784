package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A leader that records thousands of tasks a second makes garbage as fast. Each time the heap has doubled the collector looks at
// all of the state anew, which lives on, and for that long the leader does a third of its work. So a large heap is given room: it
// grows to three times what lives in it, and not to twice. A small one stays small.
const (
	heapPeriod = 5 * time.Second
	largeHeap  = 256 << 20 // bytes that live
	usualRoom  = 100       // percent of what lives, as Go has it
	largeRoom  = 200
	heapShare  = 4 // a large heap with its room takes at most a quarter of the machine's memory: that is for tasks
)

// heapRoom is what the collector was told last. It is one for the process, whatever runs in it.
var heapRoom atomic.Int64

// watchHeap tells the collector how much room the heap has, unless the environment does.
func (s *Server) watchHeap(ctx context.Context) {
	memory := totalMemory()
	if os.Getenv("GOGC") != "" || memory == 0 {
		return
	}
	tick := time.NewTicker(heapPeriod)
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

// liveHeap is what the last collection found alive.
func liveHeap() uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return live[0].Value.Uint64()
}

// totalMemory is 0 when the kernel does not say.
func totalMemory() uint64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit)
}
