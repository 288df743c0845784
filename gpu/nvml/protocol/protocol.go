// Package protocol is the protocol between the agent and the pinion-nvml helper: one JSON object a line, requests on the
// helper's standard input, messages on its standard output. The helper answers requests in order and sends an event
// whenever the driver reports one. It exits when its standard input is closed.
package protocol

import (
	"encoding/json"

	"pinion/gpu"
	"pinion/gpu/mig"
)

// MemoryTest is the argument of the helper, before the UUID of a device, with which it tests the memory of that device and exits: with 0 when
// all is well.
const MemoryTest = "memory-test"

// Kind is the kind of a request.
type Kind string

const (
	Inventory   Kind = "inventory" // the devices as they are now; never answered with an error, see gpu.Inventory.Problem
	CDI         Kind = "cdi"       // the Container Device Interface specification of the devices
	Processes   Kind = "processes" // the processes that compute on one device
	Usage       Kind = "usage"     // how the devices are used, see gpu.Meter
	Exclusive   Kind = "exclusive" // sets the compute mode of one device to EXCLUSIVE_PROCESS, see gpu.ComputeModes
	NoExclusive Kind = "default"   // sets it to DEFAULT
	Partition   Kind = "partition" // makes the MIG devices of one GPU be those of a layout, see gpu.Partitioner
	Record      Kind = "record"    // what the driver has recorded against one device
)

// Request is a line to the helper.
type Request struct {
	ID   uint64 `json:"id"` // chosen by the client, at least 1
	Kind Kind   `json:"kind"`
	UUID string `json:"uuid,omitempty"` // of the device, for all but Inventory, CDI and Usage

	Layout mig.Layout `json:"layout,omitempty"` // of Partition
}

// Message is a line from the helper: the answer to the request with the same ID, or an event with ID 0.
type Message struct {
	ID        uint64         `json:"id,omitempty"`
	Error     string         `json:"error,omitempty"` // why the request failed
	Inventory *gpu.Inventory `json:"inventory,omitempty"`
	CDI       *Spec          `json:"cdi,omitempty"`
	Processes []int          `json:"processes,omitempty"`
	Usage     []gpu.Usage    `json:"usage,omitempty"`
	Record    *DriverRecord  `json:"record,omitempty"`
	Event     *Event         `json:"event,omitempty"`
}

// DriverRecord is the driver's record of a device: the reasons not to use it.
type DriverRecord struct {
	Problem string `json:"problem,omitempty"` // empty: nothing
	// Complete reports whether the driver records the recovery action of a device. Without it the record of a device that needs a reset may be empty.
	Complete bool `json:"complete,omitempty"`
}

// Spec is a Container Device Interface specification; its device names are UUIDs.
type Spec struct {
	Kind string          `json:"kind"` // "nvidia.com/gpu"
	JSON json.RawMessage `json:"json"`
}

// Event is an event that the driver reported.
type Event struct {
	UUID string `json:"uuid,omitempty"` // of the device; empty when the driver does not name one
	Xid  uint64 `json:"xid,omitempty"`  // NVIDIA's error number; 0 when the event is not an Xid
	Text string `json:"text,omitempty"` // description of an event without a number
}
