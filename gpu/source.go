package gpu

import "context"

// Source reads a host's GPUs: from the driver through the pinion-nvml helper, or from the simulator. Its failures never end
// the agent; they are reported in Inventory.Problem.
type Source interface {
	// Inventory reads the current state of the devices.
	Inventory(ctx context.Context) (Inventory, error)
	// Changed receives a value when the inventory may have changed (health event, driver loaded or unloaded).
	Changed() <-chan struct{}
	// CDI returns the Container Device Interface specification (JSON, CDI 0.6 or later). Its device names are the UUIDs of
	// the devices, its kind is like "nvidia.com/gpu"; a container gets the device kind=UUID for each of its GPUs.
	CDI(ctx context.Context) (kind string, spec []byte, err error)
	// Processes lists the host process ids that have the device open. Only a device without any may be given to another
	// task.
	Processes(ctx context.Context, uuid string) ([]int, error)
	// Close ends the source and the processes that it started.
	Close() error
}
