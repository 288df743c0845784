package gpu

import (
	"context"
	"slices"
	"time"
)

// Usage is the usage of a GPU, as its driver measures it. A nil field is not known: the driver, or the model, does not measure it.
type Usage struct {
	UUID          string   `json:"uuid"`
	Utilization   *float64 `json:"utilization,omitempty"` // percent of the time in which something computed, since the usage was read last, as far back as the driver knows
	SMActivity    *float64 `json:"smActivity,omitempty"`  // percent of the streaming multiprocessors that computed, since the usage was read last
	MemoryUsedMiB *float64 `json:"memoryUsedMiB,omitempty"`
	PowerWatts    *float64 `json:"powerWatts,omitempty"`
	Celsius       *float64 `json:"celsius,omitempty"`
	ClockMHz      *float64 `json:"clockMHz,omitempty"` // of the streaming multiprocessors
	Slowdown      Slowdown `json:"slowdown,omitempty"` // why its hardware holds the clocks down; empty: it does not, or that is not known

	// Traffic over the links since the usage was read last, in 10^6 bytes a second.
	PCIeReceived   *float64 `json:"pcieReceivedMBps,omitempty"`
	PCIeSent       *float64 `json:"pcieSentMBps,omitempty"`
	NVLinkReceived *float64 `json:"nvlinkReceivedMBps,omitempty"`
	NVLinkSent     *float64 `json:"nvlinkSentMBps,omitempty"`
}

// UsageInterval is the time between two samples of the usage of a host's GPUs.
const UsageInterval = 5 * time.Second

// UsageSample is the usage of a GPU at a time.
type UsageSample struct {
	At time.Time `json:"at"`
	Usage
}

// LatestUsage is the latest usage of the GPUs of a host.
type LatestUsage struct {
	At      time.Time     `json:"at,omitzero"`       // when that was measured; zero: it was not yet
	Problem string        `json:"problem,omitempty"` // why it was not measured since
	GPUs    []RecentUsage `json:"gpus"`              // of which something is known, by UUID
}

// RecentUsage is the usage of a GPU now, and its utilization before.
type RecentUsage struct {
	Usage
	Recent []float64 `json:"recent,omitempty"` // utilization in the last minute, the oldest first
}

// Meter reads how GPUs are used. A Source of GPUs that can say is one.
type Meter interface {
	// Usage measures the devices now. Devices of which nothing is known are left out. An error means that nothing is known of any.
	Usage(ctx context.Context) ([]Usage, error)
}

// Bounds of plausible values, which no GPU exceeds.
const (
	maxWatts     = 10_000
	maxCelsius   = 200
	maxClockMHz  = 20_000
	maxLinkMBps  = 100_000_000
	memoryMargin = 1.01 // of the used over the whole: drivers round the two in different ways
)

// DropImplausible is the usage without values that the device cannot have: a driver in trouble reports such. implausible names the values left out.
func (u Usage) DropImplausible(d *Device) (plausible Usage, implausible []string) {
	for _, m := range []struct {
		name  string
		value **float64
		most  float64
	}{
		{"utilization", &u.Utilization, 100}, {"SM activity", &u.SMActivity, 100}, {"memory", &u.MemoryUsedMiB, memoryMargin * float64(d.MemoryMiB)}, {"power", &u.PowerWatts, maxWatts},
		{"temperature", &u.Celsius, maxCelsius}, {"clock", &u.ClockMHz, maxClockMHz}, {"PCIe", &u.PCIeReceived, maxLinkMBps}, {"PCIe", &u.PCIeSent, maxLinkMBps},
		{"NVLink", &u.NVLinkReceived, maxLinkMBps}, {"NVLink", &u.NVLinkSent, maxLinkMBps},
	} {
		if v := *m.value; v != nil && !(*v >= 0 && *v <= m.most) {
			*m.value = nil
			if !slices.Contains(implausible, m.name) {
				implausible = append(implausible, m.name)
			}
		}
	}
	if u.Slowdown != "" && !slices.Contains(Slowdowns(), u.Slowdown) {
		u.Slowdown, implausible = "", append(implausible, "slow-down")
	}
	return u, implausible
}
