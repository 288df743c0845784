package nvml

import (
	"testing"
	"testing/synctest"

	"pinion/gpu/nvml/protocol"
)

func TestHowDevicesAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &actor{onRequest: func(r protocol.Request, a *actor) { a.send(healthy(r)) }}
		s := opened(t, a.start)
		defer s.Close()
		if all, err := s.Usage(t.Context()); err != nil || len(all) != 1 || *all[0].Utilization != 42.5 || all[0].PowerWatts != nil {
			t.Errorf("%+v %v", all, err)
		}
		a.onRequest = func(r protocol.Request, a *actor) { a.send(protocol.Message{ID: r.ID, Error: "Not Supported"}) }
		if all, err := s.Usage(t.Context()); err == nil {
			t.Errorf("what nobody knows is %+v", all)
		}
	})
}
