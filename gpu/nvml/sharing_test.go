package nvml

import (
	"slices"
	"testing"
	"testing/synctest"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// Shares that the driver could enforce are offered only where somebody has them enforced.
func TestSharesAreOfferedWhereTheyAreEnforced(t *testing.T) {
	for shares, want := range map[bool]string{true: gpu.EnforcedByMPS, false: ""} {
		synctest.Test(t, func(t *testing.T) {
			able := gpu.Inventory{Devices: twoGPUs.Devices, VRAMEnforcement: gpu.EnforcedByMPS}
			a := &actor{onRequest: func(r protocol.Request, a *actor) { a.send(protocol.Message{ID: r.ID, Inventory: &able}) }}
			s := opened(t, a.start)
			defer s.Close()
			s.shares = shares
			if got := inventory(t, s).VRAMEnforcement; got != want {
				t.Errorf("shares %t: %q", shares, got)
			}
		})
	}
}

func TestTheComputeModeIsSetThroughTheHelper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		a := &actor{onRequest: func(r protocol.Request, a *actor) {
			asked = append(asked, string(r.Kind)+" "+r.UUID)
			a.send(protocol.Message{ID: r.ID})
		}}
		s := opened(t, a.start)
		defer s.Close()
		for _, exclusive := range []bool{true, false} {
			if err := s.SetExclusive(t.Context(), "GPU-a", exclusive); err != nil {
				t.Fatal(err)
			}
		}
		if want := []string{"exclusive GPU-a", "default GPU-a"}; !slices.Equal(asked, want) {
			t.Errorf("the helper was asked %+v", asked)
		}
		a.onRequest = func(r protocol.Request, a *actor) {
			a.send(protocol.Message{ID: r.ID, Error: "Insufficient Permissions"})
		}
		if s.SetExclusive(t.Context(), "GPU-a", true) == nil {
			t.Error("a mode that was not set is told as set")
		}
	})
}
