package client

import (
	"context"
	"time"
)

// GPUUsage is how a GPU is used. What is nil is not known: its driver, or its model, does not measure it.
type GPUUsage struct {
	UUID   string    `json:"uuid"`
	HostID string    `json:"hostId"`
	At     time.Time `json:"at"` // when that was measured

	Utilization    *float64  `json:"utilization"` // percent of the time in which something computed
	SMActivity     *float64  `json:"smActivity"`  // percent of the streaming multiprocessors that computed
	MemoryUsedMiB  *float64  `json:"memoryUsedMiB"`
	PowerWatts     *float64  `json:"powerWatts"`
	Celsius        *float64  `json:"celsius"`
	ClockMHz       *float64  `json:"clockMHz"`
	Slowdown       string    `json:"slowdown"`         // why its hardware holds the clocks down: thermal or power-brake
	PCIeReceived   *float64  `json:"pcieReceivedMBps"` // 10^6 bytes a second, as the others
	PCIeSent       *float64  `json:"pcieSentMBps"`
	NVLinkReceived *float64  `json:"nvlinkReceivedMBps"`
	NVLinkSent     *float64  `json:"nvlinkSentMBps"`
	Recent         []float64 `json:"recent"` // utilization in the last minute, the oldest first
}

// UnknownUsage is a host that does not say how its GPUs are used.
type UnknownUsage struct {
	Host    string `json:"host"` // name
	HostID  string `json:"hostId"`
	Problem string `json:"problem"`
}

// PoolGPUUsage is how the GPUs of the pool, or of a cluster, are used.
type PoolGPUUsage struct {
	GPUs    []GPUUsage     `json:"gpus"` // of which something is known
	Unknown []UnknownUsage `json:"unknown"`
}

// GPUUsages asks all hosts how their GPUs are used.
func GPUUsages(ctx context.Context, c *Client) (usage PoolGPUUsage, err error) {
	return usage, c.Get(ctx, "/v1/gpus/usage", nil, &usage)
}
