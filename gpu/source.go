package gpu

import "context"

// Source is where a host's GPUs come from: the driver through the pinion-nvml helper, or the simulator.
// A source never brings the agent down: what it cannot tell it reports in Inventory.Problem.
type Source interface {
	// Inventory reads the devices now.
	Inventory(ctx context.Context) (Inventory, error)
	// Changed receives a value each time the inventory may have changed (health event, driver came or went).
	Changed() <-chan struct{}
	// CDI returns the Container Device Interface specification (JSON, CDI 0.6 or later) whose device names are the
	// UUIDs of the devices, and its kind ("nvidia.com/gpu"). A container gets device kind=UUID for each of its GPUs.
	CDI(ctx context.Context) (kind string, spec []byte, err error)
	// Processes lists the host process ids that have the device open. Empty means the device can change hands.
	Processes(ctx context.Context, uuid string) ([]int, error)
	// Close ends the source and whatever it started.
	Close() error
}
