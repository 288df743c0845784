package proxy

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"pinion/raftfsm/traffic"
)

// A host that has no port or file left to connect from drives out no target: the next request may find one.
func TestAShortageOfThisHostIsNoFaultOfATarget(t *testing.T) {
	g := newGroup("web", nil)
	g.update(traffic.Group{ID: "web", Targets: []traffic.Target{{ID: "a", State: traffic.Healthy}, {ID: "b", State: traffic.Healthy}}})
	fail := func(why error) {
		err := &dialError{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", why)}}
		for range 2 * failuresToEject {
			g.observe(g.targets["a"], outcomeOfError(err))
		}
	}
	for _, why := range []error{syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENOBUFS} {
		if fail(why); len(g.eligible) != 2 {
			t.Errorf("%v drives a target out", why)
		}
	}
	if fail(errors.ErrUnsupported); len(g.eligible) != 1 {
		t.Error("a target that cannot be connected to stays")
	}
}
