package server

import (
	"runtime"
	"testing"
)

func TestALargeHeapHasRoomWhereThereIsMemory(t *testing.T) {
	const mega, giga = 1 << 20, 1 << 30
	for name, c := range map[string]struct {
		live, memory uint64
		want         int64
	}{
		"a host that is idle":                  {20 * mega, 512 * giga, usualRoom},
		"thousands of tasks":                   {70 * mega, 512 * giga, 300},
		"the same on a small machine":          {70 * mega, 4 * giga, usualRoom},
		"a hundred thousand tasks":             {300 * mega, 512 * giga, 300},
		"the same on a machine of 16 G":        {300 * mega, 16 * giga, 200},
		"the same on a machine of 2 G":         {300 * mega, 2 * giga, usualRoom},
		"a million tasks on a machine of 64 G": {1500 * mega, 64 * giga, 200},
		"a million tasks on a machine of 16 G": {1500 * mega, 16 * giga, usualRoom},
	} {
		if got := roomFor(c.live, c.memory); got != c.want {
			t.Errorf("%s: %d %%, want %d", name, got, c.want)
		}
	}
	runtime.GC()
	if liveHeap() == 0 || totalMemory() == 0 {
		t.Errorf("%d bytes live of a machine's %d", liveHeap(), totalMemory())
	}
}
