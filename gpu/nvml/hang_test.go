package nvml

import (
	"testing"
	"testing/synctest"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// Of devices that were there before the driver hung, it is known that it does.
func TestDevicesOfADriverThatHangsAreHung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := false
		a := &actor{onRequest: func(r protocol.Request, a *actor) {
			if !hangs {
				a.send(healthy(r))
			}
		}}
		s := opened(t, a.start)
		defer s.Close()
		inventory(t, s)
		hangs = true
		for _, when := range []string{"when it is ended", "while it rests"} {
			if i := inventory(t, s); len(i.Devices) != 2 || i.Devices[0].Health != gpu.Hung || i.Devices[1].Health != gpu.Hung {
				t.Errorf("%s: %+v", when, i)
			}
		}
	})
}
