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
// the whole live state, which is a third of what a placement costs. So a heap that is not small may grow further; a small heap
// keeps Go's default.
const (
	heapPeriod = 5 * time.Second
	usualRoom  = 100 // percent of what lives, as Go has it
)

// wideRooms are the rooms of larger heaps, the widest first. A heap with its room takes at most a share of the machine's memory: the rest
// is for tasks.
var wideRooms = []struct {
	live  uint64 // bytes at least
	room  uint64 // percent of them
	share uint64 // of the memory: one of so many parts
}{
	{live: 64 << 20, room: 300, share: 16},
	{live: 256 << 20, room: 200, share: 4},
}

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
	for _, wide := range wideRooms {
		if live >= wide.live && live+live*wide.room/100 <= memory/wide.share {
			return int64(wide.room)
		}
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
