package xid_test

import (
	"testing"

	"pinion/gpu"
	"pinion/gpu/xid"
)

func TestOf(t *testing.T) {
	tests := []struct {
		code      uint64
		health    gpu.Health
		endsTasks bool
	}{
		{13, gpu.Healthy, false}, {31, gpu.Healthy, false}, {43, gpu.Healthy, false}, {45, gpu.Healthy, false}, // of the program
		{xid.Contained, gpu.Healthy, true}, // the program is to be started again, the GPU goes on
		{95, gpu.NeedsReset, true}, {48, gpu.NeedsReset, false}, {74, gpu.NeedsReset, false}, {119, gpu.NeedsReset, true}, {109, gpu.NeedsReset, false},
		{xid.LostFromBus, gpu.Lost, true},
		{xid.RecoveryChanged, gpu.Healthy, false},                                             // the driver's record says more
		{104, gpu.Healthy, false}, {149, gpu.NeedsReset, false}, {125, gpu.NeedsReset, false}, // in and between ranges
		{0, gpu.NeedsReset, false}, {1 << 40, gpu.NeedsReset, false}, // of a driver to come
	}
	for _, test := range tests {
		e := xid.Lookup(test.code)
		if e.Health != test.health || e.EndsTasks != test.endsTasks || e.Code != test.code || e.Text == "" {
			t.Errorf("Xid %d: %+v", test.code, e)
		}
	}
}

func TestEveryErrorHasAStateThatPinionKnows(t *testing.T) {
	for code := range uint64(300) {
		switch e := xid.Lookup(code); e.Health {
		case gpu.Healthy, gpu.Lost, gpu.NeedsReset, gpu.NeedsReboot:
			if e.Health != gpu.Healthy && e.Health.RecoveryAction() == "" {
				t.Errorf("%v: nothing to do about %s", e, e.Health)
			}
		default:
			t.Errorf("%v: %s", e, e.Health)
		}
	}
}
