package dispatch

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// endingHost is a host that may only end.
type endingHost struct {
	Host
	ended bool
}

func (h *endingHost) Fail(error) { h.ended = true }

// A server that was removed, and does not know it yet, passes the leader's refusal of itself on to the hosts that have a session with it.
func TestAHostEndsOnlyWhenItWasRemovedItself(t *testing.T) {
	for removed, ends := range map[string]bool{"this": true, "the server between": false} {
		host := &endingHost{}
		u := NewUpstream(host, "this:7400", nil, slog.New(slog.DiscardHandler))
		told := rpc.ToWire(fmt.Errorf("register: %w", spec.Removed(removed))).Err()
		if err := u.failIfRemoved("this", told); !errors.Is(err, spec.ErrRemoved) || host.ended != ends {
			t.Errorf("%s was removed: the host ended: %t, %v", removed, host.ended, err)
		}
	}
}
