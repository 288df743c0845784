package gpu

import (
	"math"
	"slices"
	"testing"
)

func TestWhatNoGPUDoesIsNotKnown(t *testing.T) {
	is := func(v float64) *float64 { return &v }
	device := &Device{UUID: "GPU-a", MemoryMiB: 1000}
	for name, test := range map[string]struct {
		said        Usage
		implausible []string
	}{
		"all is well":        {Usage{Utilization: is(100), MemoryUsedMiB: is(1000), PowerWatts: is(700), Celsius: is(90), ClockMHz: is(1980), PCIeSent: is(60_000)}, nil},
		"nothing is known":   {Usage{}, nil},
		"more than there is": {Usage{Utilization: is(101), SMActivity: is(101), MemoryUsedMiB: is(2000)}, []string{"utilization", "SM activity", "memory"}},
		"less than nothing":  {Usage{PowerWatts: is(-1), PCIeReceived: is(-5), PCIeSent: is(-5)}, []string{"power", "PCIe"}},
		"it is slow":         {Usage{Slowdown: SlowPower}, nil},
		"it is tired":        {Usage{Slowdown: "tired"}, []string{"slow-down"}},
		"no number":          {Usage{Celsius: is(math.NaN()), ClockMHz: is(math.Inf(1)), NVLinkSent: is(math.NaN())}, []string{"temperature", "clock", "NVLink"}},
	} {
		t.Run(name, func(t *testing.T) {
			plausible, implausible := test.said.DropImplausible(device)
			if !slices.Equal(implausible, test.implausible) {
				t.Errorf("implausible: %v", implausible)
			}
			if again, none := plausible.DropImplausible(device); none != nil || again != plausible {
				t.Errorf("%v is left in %+v", none, plausible)
			}
		})
	}
}
