package heap

import (
	"runtime"
	"testing"
)

func TestAHeapGrowsWhereThereIsMemory(t *testing.T) {
	const mega, giga = 1 << 20, 1 << 30
	for name, c := range map[string]struct {
		live, garbage, memory uint64
		want                  uint64
	}{
		"a host that is idle":                       {20 * mega, 0, 512 * giga, usualGrowth},
		"an idle agent":                             {4 * mega, mega, 512 * giga, usualGrowth},
		"an agent that carries requests":            {4 * mega, 100 * mega, 512 * giga, 700},
		"the same on a small machine":               {4 * mega, 100 * mega, giga / 2, usualGrowth},
		"a server that answers many requests":       {20 * mega, 200 * mega, 512 * giga, usualGrowth},
		"a process that has not been collected yet": {0, 200 * mega, 512 * giga, usualGrowth},
		"thousands of tasks":                        {70 * mega, 0, 512 * giga, 300},
		"thousands of tasks on a small machine":     {70 * mega, 0, 4 * giga, usualGrowth},
		"a hundred thousand tasks":                  {300 * mega, 0, 512 * giga, 300},
		"the same on a machine of 16 G":             {300 * mega, 0, 16 * giga, 200},
		"the same on a machine of 2 G":              {300 * mega, 0, 2 * giga, usualGrowth},
		"a million tasks on a machine of 64 G":      {1500 * mega, 0, 64 * giga, 200},
		"a million tasks on a machine of 16 G":      {1500 * mega, 0, 16 * giga, usualGrowth},
	} {
		if got := growthFor(c.live, c.garbage, c.memory); got != c.want {
			t.Errorf("%s: %d %%, want %d", name, got, c.want)
		}
	}
	runtime.GC()
	if Live() == 0 || Memory() == 0 {
		t.Errorf("%d bytes live of a machine's %d", Live(), Memory())
	}
}
