package ca_test

import (
	"errors"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

func TestTheFirstAuthorityStays(t *testing.T) {
	h := raftfsmtest.New(t)
	if h.View().CA() != nil {
		t.Fatal("there is one already")
	}
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("first"), SealedKey: []byte("k"), Seal: "one"}})
	second := raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("second"), Seal: "two"}}).(*spec.CA)
	if string(second.Certificate) != "first" || string(h.View().CA().SealedKey) != "k" {
		t.Errorf("in force: %+v", second)
	}
}

func TestTheKeyOfTheAuthorityIsSealedAnew(t *testing.T) {
	h := raftfsmtest.New(t)
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("first"), SealedKey: []byte("k"), Seal: "one"}})
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("first"), SealedKey: []byte("K"), Seal: "two"}})
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("first"), SealedKey: []byte("later"), Seal: "two"}})
	if got := h.View().CA(); string(got.SealedKey) != "K" || got.Seal != "two" {
		t.Errorf("in force: %+v", got)
	}
}

// rotated is a history in which the CA was rotated, with a host on each root.
func rotated(t *testing.T) *raftfsmtest.State {
	t.Helper()
	h := raftfsmtest.New(t)
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("first"), SealedKey: []byte("k"), Seal: "one"}})
	for _, id := range []string{"a", "b"} {
		h.Do(raftfsm.AdmitBootstrapHost{Admission: spec.Admission{HostID: id, PublicKeyHash: id, At: raftfsmtest.At(0)}})
		h.Do(raftfsm.PutHost{Host: spec.Host{ID: id, Name: id, Cluster: spec.DefaultCluster}})
	}
	overlap := spec.CAOverlap{Previous: []byte("first"), Cross: []byte("x"), Trusted: true}
	raftfsmtest.Change(h, ca.Rotate{CA: spec.CA{Certificate: []byte("second"), SealedKey: []byte("k2"), Seal: "one", Since: raftfsmtest.At(1), Overlap: overlap}, From: []byte("first")})
	return h
}

func TestOneRootTakesThePlaceOfAnother(t *testing.T) {
	h := rotated(t)
	if got := h.View().CA(); string(got.Certificate) != "second" || string(got.Overlap.Previous) != "first" || !got.Overlap.Trusted {
		t.Fatalf("%+v", got)
	}
	for name, from := range map[string]string{"while hosts are on the root before": "second", "from a root that was replaced": "first"} {
		if _, err := h.Try(raftfsm.Wrap(ca.Rotate{CA: spec.CA{Certificate: []byte("third")}, From: []byte(from)})); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%s: %v", name, err)
		}
	}
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("second"), SealedKey: []byte("K2"), Seal: "two"}})
	if got := h.View().CA(); string(got.SealedKey) != "K2" || !got.Overlap.Trusted || !got.Since.Equal(raftfsmtest.At(1)) {
		t.Errorf("sealed anew it is %+v", got)
	}
}

func TestTheRootBeforeGoesInStepsAndNeverComesBack(t *testing.T) {
	h := rotated(t)
	narrow := func(to spec.CAOverlap) spec.CAOverlap {
		raftfsmtest.Change(h, ca.NarrowOverlap{Certificate: []byte("second"), To: to})
		return h.View().CA().Overlap
	}
	first := h.View().CA().Overlap
	for _, id := range []string{"a", "b"} {
		if left := h.View().HostsNotOn("second"); len(left) == 0 {
			t.Fatal("every host is on the new root already")
		}
		h.Do(raftfsm.RecordHostRoot{HostID: id, Root: "second"})
	}
	left := slices.DeleteFunc(h.View().HostsNotOn("second"), func(host *spec.Host) bool { return host.ID != "a" && host.ID != "b" })
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	dropped := first
	dropped.Trusted = false
	if got := narrow(dropped); got.Trusted || got.IsEmpty() {
		t.Errorf("hosts drop it: %+v", got)
	}
	if got := narrow(first); got.Trusted {
		t.Error("hosts take it again")
	}
	raftfsmtest.Change(h, ca.NarrowOverlap{Certificate: []byte("first"), To: spec.CAOverlap{}}) // of a leader that has missed the rotation
	if h.View().CA().Overlap.IsEmpty() {
		t.Error("the overlap of another root ended")
	}
	if got := narrow(spec.CAOverlap{}); !got.IsEmpty() {
		t.Errorf("it is over: %+v", got)
	}
	if got := narrow(first); !got.IsEmpty() {
		t.Error("it came back")
	}
	if _, err := h.Try(raftfsm.RecordHostRoot{HostID: "unknown", Root: "second"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a host that nobody knows: %v", err)
	}
}
