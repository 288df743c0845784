package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	apiclient "pinion/api/client"
	"pinion/gpu"
	"pinion/gpu/sim"
)

const (
	// gpuFaults is the number of GPU errors that are measured.
	gpuFaults = 50
	// betweenFaults is the time between two of them: a host may describe itself once a second, and does it twice for each.
	betweenFaults = 2 * time.Second
)

// measureGPUFaults times an Xid error, from the moment at which the simulated driver can tell of it until the API says that its GPU gets no tasks. A check
// after each makes the GPU well again.
func measureGPUFaults(h *host, _ int, r *results) error {
	var told []time.Duration
	for n := range gpuFaults {
		index := n % 8
		begin := time.Now()
		if err := sim.WriteFault(filepath.Join(h.dir, "sim"), index, 119); err != nil {
			return err
		}
		sick, err := h.waitGPU(index, gpu.NeedsReset)
		if err != nil {
			return err
		}
		told = append(told, time.Since(begin))
		if err := apiclient.CheckGPU(context.Background(), h.api, sick.UUID, false); err != nil {
			return err
		}
		if _, err := h.waitGPU(index, gpu.Healthy); err != nil {
			return err
		}
		time.Sleep(betweenFaults)
	}
	return r.add("Host/gpu-fault", len(told), percentiles("", told)...)
}

// waitGPU waits until the API says that a GPU of the only host has the health.
func (c *client) waitGPU(index int, health gpu.Health) (apiclient.GPU, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	for {
		all, err := c.api.GPUs(ctx)
		if err != nil {
			return apiclient.GPU{}, fmt.Errorf("GPU %d does not become %s: %w", index, health, err)
		}
		for _, g := range all {
			if g.Index == index && g.Health == string(health) {
				return g, nil
			}
		}
	}
}
