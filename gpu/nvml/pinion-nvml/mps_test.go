//go:build cgo

package main

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// One GPU that MPS cannot keep clients apart on, as those before Volta, is enough for the host to share none.
func TestSharesAreOfferedWhereAllGPUsKeepClientsApart(t *testing.T) {
	d, devices := dgx(t)
	if got := d.inventory().VRAMEnforcement; got != gpu.EnforcedByMPS {
		t.Errorf("a DGX A100 enforces %q", got)
	}
	for name, capability := range map[string]func() (int, int, nvml.Return){
		"Pascal":  func() (int, int, nvml.Return) { return 6, 1, nvml.SUCCESS },
		"unknown": func() (int, int, nvml.Return) { return 0, 0, nvml.ERROR_UNKNOWN },
	} {
		devices[3].GetCudaComputeCapabilityFunc = capability
		if got := d.inventory().VRAMEnforcement; got != "" {
			t.Errorf("%s: the host enforces %q", name, got)
		}
	}
}

func TestTheComputeModeOfOneDeviceIsSet(t *testing.T) {
	d, devices := dgx(t)
	set := nvml.ComputeMode(-1)
	devices[2].SetComputeModeFunc = func(mode nvml.ComputeMode) nvml.Return { set = mode; return nvml.SUCCESS }
	for kind, want := range map[protocol.Kind]nvml.ComputeMode{protocol.Exclusive: nvml.COMPUTEMODE_EXCLUSIVE_PROCESS, protocol.NoExclusive: nvml.COMPUTEMODE_DEFAULT} {
		if answer := d.answer(protocol.Request{ID: 1, Kind: kind, UUID: devices[2].UUID}); answer.Error != "" || set != want {
			t.Errorf("%s: %q, mode %v", kind, answer.Error, set)
		}
	}
	devices[2].SetComputeModeFunc = func(nvml.ComputeMode) nvml.Return { return nvml.ERROR_NO_PERMISSION }
	if answer := d.answer(protocol.Request{ID: 1, Kind: protocol.Exclusive, UUID: devices[2].UUID}); answer.Error == "" {
		t.Error("a mode that was not set is told as set")
	}
}
