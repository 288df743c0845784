package gpu

import (
	"context"
	"errors"
)

// Fault is an error that a driver has told of.
type Fault struct {
	UUID string // of the device; empty when the driver does not know which
	Xid  uint64 // NVIDIA's number of the error; 0: it has none
	Text string // what it is, of one without a number
}

// FaultSource is a Source whose driver reports errors when they happen.
type FaultSource interface {
	// Faults takes the errors that the driver has reported since the last call. Changed receives a value when there is more to take.
	// Equal faults that nobody has taken are one, so there is a bound to them.
	Faults() []Fault
}

// ErrPresent refuses to forget a GPU that its host has.
var ErrPresent = errors.New("the driver lists it, so it cannot be forgotten: `pinion gpus quarantine` keeps it from tasks")

// Checker is a Source that can tell whether a device works.
type Checker interface {
	// Check tries the device, which no process has open, and returns what is wrong with it; nil: it may get work. repaired says that the device
	// was reset, or its host booted, since something was wrong with it last; without that, no more is known of it than what the driver says.
	Check(ctx context.Context, uuid string, repaired bool) error
}

// Resetter is a Source that can reset devices.
type Resetter interface {
	// Reset resets the device, which no process has open.
	Reset(ctx context.Context, uuid string) error
}

// CheckOutcome is the outcome of a check that an operator has asked for.
type CheckOutcome struct {
	Done    bool   `json:"done"`
	Problem string `json:"problem,omitempty"` // why the device has not passed; empty: it has
}
