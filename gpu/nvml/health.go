package nvml

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// keepKnown adds the known devices that a driver in trouble does not list: they are lost, unhealthy when the driver could not be asked at all, or hung.
// One that a driver without trouble lists no more is not its matter: node/gpuhealth notices it.
func keepKnown(listed, known []gpu.Device, problem string, hangs bool) []gpu.Device {
	if problem == "" {
		return listed
	}
	health := gpu.Lost
	switch {
	case hangs:
		health = gpu.Hung
	case len(listed) == 0:
		health = gpu.Unhealthy
	}
	there := gpu.Inventory{Devices: listed}
	for _, d := range known {
		if _, ok := there.Device(d.UUID); !ok && !d.PartitionedAnew(listed) {
			d.Health, d.Problem = health, problem
			listed = append(listed, d)
		}
	}
	return listed
}

// maxFaults bounds the errors that nobody has taken yet.
const maxFaults = 256

// onEvent keeps an error that the driver reported until it is taken.
func (s *Source) onEvent(e protocol.Event) {
	fault := gpu.Fault{UUID: e.UUID, Xid: e.Xid, Text: e.Text}
	s.mu.Lock()
	if !slices.Contains(s.faults, fault) && len(s.faults) < maxFaults {
		s.faults = append(s.faults, fault)
	}
	s.mu.Unlock()
	s.notifyChanged()
}

// Faults is of gpu.FaultSource.
func (s *Source) Faults() []gpu.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults := s.faults
	s.faults = nil
	return faults
}

// Check is of gpu.Checker: the driver holds nothing against the device, and every byte of its free memory keeps what a kernel of the test writes.
func (s *Source) Check(ctx context.Context, uuid string, repaired bool) error {
	answer, err := s.callDevice(ctx, protocol.Request{Kind: protocol.Record, UUID: uuid})
	switch {
	case err != nil:
		return fmt.Errorf("the driver does not tell: %w", err)
	case answer.Record == nil:
		return errors.New("pinion-nvml answered without a record: it is of another version than pinion")
	case answer.Record.Problem != "":
		return errors.New(answer.Record.Problem)
	case !answer.Record.Complete && !repaired:
		return errors.New("this driver does not record what a GPU needs after an error: " + gpu.NeedsReset.RecoveryAction())
	}
	return s.testMemory(ctx, uuid)
}
