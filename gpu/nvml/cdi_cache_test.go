package nvml

import (
	"testing"
	"testing/synctest"

	"pinion/gpu/nvml/protocol"
)

func TestTheCDISpecificationIsMadeOncePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made, seen := 0, twoGPUs
		a := &actor{onRequest: func(r protocol.Request, a *actor) {
			if r.Kind == protocol.CDI {
				made++
			}
			answer := healthy(r)
			if r.Kind == protocol.Inventory {
				answer.Inventory = &seen
			}
			a.send(answer)
		}}
		s := opened(t, a.start)
		defer s.Close()
		want := func(n int, after string) {
			t.Helper()
			for range 3 {
				if kind, spec, err := s.CDI(t.Context()); err != nil || kind != "nvidia.com/gpu" || len(spec) == 0 {
					t.Fatalf("CDI returns %q, %s, %v", kind, spec, err)
				}
			}
			if made != n {
				t.Errorf("after %s the specification was made %d times, want %d", after, made, n)
			}
		}
		inventory(t, s)
		want(1, "the first inventory")
		inventory(t, s)
		want(1, "the same inventory")
		seen.Driver = "590.10"
		inventory(t, s)
		want(2, "an update of the driver")
		a.send(protocol.Message{Event: &protocol.Event{UUID: "GPU-a", Xid: 79}})
		<-s.Changed()
		want(3, "an event")
	})
}

func TestASpecificationThatAChangeOvertookIsNotKept(t *testing.T) {
	var c cdiCache
	_, generation := c.get()
	c.drop()
	c.put(&protocol.Spec{Kind: "old"}, generation)
	if spec, _ := c.get(); spec != nil {
		t.Errorf("%+v was kept", spec)
	}
}
