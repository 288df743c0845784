package gpu

import "context"

// Meter reads how busy GPUs are. A Source of GPUs that can say is one.
type Meter interface {
	// Utilization is for how much of the time the device has computed, in percent, since it was asked last, as far back as its driver knows. An
	// error means that nobody knows, never that it is 0.
	Utilization(ctx context.Context, uuid string) (percent float64, err error)
}
