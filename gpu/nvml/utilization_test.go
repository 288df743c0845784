package nvml

import (
	"testing"
	"testing/synctest"

	"pinion/gpu/nvml/protocol"
)

func TestHowBusyADeviceIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{hear: func(r protocol.Request, a *actor) { a.say(healthy(r)) }}
		s := opened(t, a.start)
		defer s.Close()
		if percent, err := s.Utilization(t.Context(), "GPU-a"); err != nil || percent != 42.5 {
			t.Errorf("%v %v", percent, err)
		}
		a.hear = func(r protocol.Request, a *actor) { a.say(protocol.Message{ID: r.ID, Error: "Not Supported"}) }
		if percent, err := s.Utilization(t.Context(), "GPU-a"); err == nil {
			t.Errorf("what nobody knows is %v", percent)
		}
	})
}
