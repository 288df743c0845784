package proxy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm/traffic"
)

// Every request counts for as long as it is in flight, those that have not ended included.
func TestHowLongRequestsWereInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup("web", nil)
		g.update(traffic.Group{ID: "web", Targets: []traffic.Target{{ID: "t", Address: "10.0.0.1:80", State: traffic.Healthy}}})
		busy := func() float64 { return g.metrics()[1].Busy }
		take := func() *target {
			taken, err := g.acquire(context.Background(), preference{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return taken
		}
		time.Sleep(time.Hour)
		first := take()
		time.Sleep(2 * time.Second)
		second := take()
		time.Sleep(time.Second)
		if got := busy(); got != 4 {
			t.Errorf("%v s, with two in flight", got)
		}
		g.release(first)
		time.Sleep(3 * time.Second)
		g.release(second)
		time.Sleep(time.Hour)
		if got := busy(); got != 7 {
			t.Errorf("%v s, when they have ended", got)
		}
	})
}
