package virtualip_test

import (
	"fmt"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/virtualip"
)

func TestAVirtualIPIsAssignedUnderOneEpochAfterTheOther(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Refuse(s, virtualip.Assign{IP: "10.0.0.100", Holder: "a", Epoch: 1}, spec.ErrInUse)
	raftfsmtest.Change(s, virtualip.BecomeAssigner{})
	raftfsmtest.Refuse(s, virtualip.Assign{IP: "10.0.0.100", Holder: "a", Epoch: 2}, spec.ErrInUse)
	raftfsmtest.Change(s, virtualip.Assign{IP: "10.0.0.100", Holder: "a", Epoch: 1})
	raftfsmtest.Refuse(s, virtualip.Assign{IP: "10.0.0.100", Holder: "b", Epoch: 1}, spec.ErrInUse)
	raftfsmtest.Change(s, virtualip.Assign{IP: "10.0.0.100", Holder: "b", Epoch: 2})
	if got := virtualip.Find(s.View(), "10.0.0.100"); got.Holder != "b" || got.Epoch != 2 {
		t.Errorf("%+v", got)
	}
	if got := virtualip.Holder(s.View(), "10.0.0.101"); got != "" {
		t.Error(got)
	}
}

// A leader that was replaced meanwhile does not know of leases that others have granted.
func TestALeaderAssignsVirtualIPsUntilTheNextOne(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, virtualip.BecomeAssigner{Token: "first"})
	raftfsmtest.Change(s, virtualip.Assign{IP: "10.0.0.100", Holder: "a", Epoch: 1, Token: "first"})
	raftfsmtest.Change(s, virtualip.BecomeAssigner{Token: "second"})
	raftfsmtest.Refuse(s, virtualip.Assign{IP: "10.0.0.100", Holder: "b", Epoch: 2, Token: "first"}, spec.ErrInUse)
	raftfsmtest.Change(s, virtualip.Assign{IP: "10.0.0.100", Holder: "b", Epoch: 2, Token: "second"})
}

func TestVirtualIPsAreBounded(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, virtualip.BecomeAssigner{})
	for i := range virtualip.Max {
		raftfsmtest.Change(s, virtualip.Assign{IP: fmt.Sprint("10.0.0.", i), Epoch: 1})
	}
	raftfsmtest.Refuse(s, virtualip.Assign{IP: "10.1.0.1", Epoch: 1}, virtualip.ErrTooMany)
	raftfsmtest.Change(s, virtualip.Assign{IP: "10.0.0.1", Epoch: 2})
}

// A host that offers an address remembers the epochs that it gave up, so they do not begin anew.
func TestAVirtualIPIsForgottenWhenNoHostOffersIt(t *testing.T) {
	s := raftfsmtest.New(t)
	host := spec.Host{ID: "a", Address: "a:7400", VirtualIPs: []iplease.Offer{{IP: "10.0.0.2", Bits: 24}}}
	s.Do(raftfsm.PutHost{Host: host})
	raftfsmtest.Change(s, virtualip.BecomeAssigner{})
	for _, ip := range []string{"10.0.0.1", "10.0.0.2"} {
		raftfsmtest.Change(s, virtualip.Assign{IP: ip, Epoch: 1, At: raftfsmtest.At(1)})
	}
	raftfsmtest.Change(s, virtualip.Assign{IP: "10.0.0.3", Holder: "a", Epoch: 1, At: raftfsmtest.At(1)})
	s.Do(raftfsm.Reap{Before: raftfsmtest.At(2)})
	var left []string
	for _, a := range virtualip.All(s.View()) {
		left = append(left, a.IP)
	}
	if fmt.Sprint(left) != "[10.0.0.2 10.0.0.3]" {
		t.Errorf("%v are left", left)
	}
}
