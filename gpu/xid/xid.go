// Package xid has the meaning of NVIDIA's Xid errors for a GPU and its tasks: the "immediate action" of NVIDIA's Xid catalog
// (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html), in Pinion's states of health.
package xid

import (
	"fmt"

	"pinion/gpu"
)

// Error is the meaning of an Xid.
type Error struct {
	Code   uint64
	Text   string     // what has happened, for people
	Health gpu.Health // of the GPU from then on; gpu.Healthy: it goes on
	// EndsTasks reports whether the tasks of the GPU are to be stopped: their results are lost, or they will never end.
	EndsTasks bool
}

// Numbers of errors of which Pinion's users hear most often.
const (
	Contained   = 94 // an error of memory, kept to the program that had the memory
	LostFromBus = 79
	// RecoveryChanged comes after another error: what the driver asks for is in its record from then on.
	RecoveryChanged = 154
)

// Lookup is the meaning of an Xid. NVIDIA adds numbers with new drivers: an unknown one takes the GPU out of use until it is reset.
func Lookup(code uint64) Error {
	if e, ok := named[code]; ok {
		e.Code = code
		return e
	}
	for _, r := range ranges {
		if r.first <= code && code <= r.last {
			return Error{Code: code, Text: r.text, Health: r.health}
		}
	}
	return Error{Code: code, Text: "an error that this version of Pinion does not know", Health: gpu.NeedsReset}
}

// String is the number and the event.
func (e Error) String() string { return fmt.Sprintf("Xid %d, %s", e.Code, e.Text) }
