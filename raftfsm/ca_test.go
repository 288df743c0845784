package raftfsm

import (
	"errors"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestTheFirstAuthorityStays(t *testing.T) {
	h := newHistory(t)
	if h.View().CA() != nil {
		t.Fatal("there is one already")
	}
	h.do(t, PutCA{spec.CA{Certificate: []byte("first"), SealedKey: []byte("k"), Seal: "one"}})
	second := h.do(t, PutCA{spec.CA{Certificate: []byte("second"), Seal: "two"}}).(*spec.CA)
	if string(second.Certificate) != "first" || string(h.View().CA().SealedKey) != "k" {
		t.Errorf("in force: %+v", second)
	}
}

func TestTheKeyOfTheAuthorityIsSealedAnew(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutCA{spec.CA{Certificate: []byte("first"), SealedKey: []byte("k"), Seal: "one"}})
	h.do(t, PutCA{spec.CA{Certificate: []byte("first"), SealedKey: []byte("K"), Seal: "two"}})
	h.do(t, PutCA{spec.CA{Certificate: []byte("first"), SealedKey: []byte("later"), Seal: "two"}})
	if ca := h.View().CA(); string(ca.SealedKey) != "K" || ca.Seal != "two" {
		t.Errorf("in force: %+v", ca)
	}
}

// rotated is a history in which the CA was rotated, with a host on each root.
func rotated(t *testing.T) *history {
	t.Helper()
	h := newHistory(t)
	h.do(t, PutCA{spec.CA{Certificate: []byte("first"), SealedKey: []byte("k"), Seal: "one"}})
	for _, id := range []string{"a", "b"} {
		h.do(t, AdmitFounder{spec.Admission{HostID: id, PublicKeyHash: id, At: at(0)}})
		h.do(t, PutHost{spec.Host{ID: id, Name: id, Cluster: spec.DefaultCluster}})
	}
	overlap := spec.CAOverlap{Previous: []byte("first"), Cross: []byte("x"), Trusted: true}
	h.do(t, RotateCA{spec.CA{Certificate: []byte("second"), SealedKey: []byte("k2"), Seal: "one", Since: at(1), Overlap: overlap}, []byte("first")})
	return h
}

func TestOneRootTakesThePlaceOfAnother(t *testing.T) {
	h := rotated(t)
	if ca := h.View().CA(); string(ca.Certificate) != "second" || string(ca.Overlap.Previous) != "first" || !ca.Overlap.Trusted {
		t.Fatalf("%+v", ca)
	}
	for name, from := range map[string]string{"while hosts are on the root before": "second", "from a root that was replaced": "first"} {
		if _, err := h.try(t, RotateCA{spec.CA{Certificate: []byte("third")}, []byte(from)}); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.do(t, PutCA{spec.CA{Certificate: []byte("second"), SealedKey: []byte("K2"), Seal: "two"}})
	if ca := h.View().CA(); string(ca.SealedKey) != "K2" || !ca.Overlap.Trusted || !ca.Since.Equal(at(1)) {
		t.Errorf("sealed anew it is %+v", ca)
	}
}

func TestTheRootBeforeGoesInStepsAndNeverComesBack(t *testing.T) {
	h := rotated(t)
	narrow := func(to spec.CAOverlap) spec.CAOverlap {
		h.do(t, NarrowCAOverlap{[]byte("second"), to})
		return h.View().CA().Overlap
	}
	first := h.View().CA().Overlap
	for _, id := range []string{"a", "b"} {
		if left := h.View().HostsNotOn("second"); len(left) == 0 {
			t.Fatal("every host is on the new root already")
		}
		h.do(t, RecordHostRoot{id, "second"})
	}
	left := slices.DeleteFunc(h.View().HostsNotOn("second"), func(host *spec.Host) bool { return host.ID != "a" && host.ID != "b" })
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	dropped := first
	dropped.Trusted = false
	if got := narrow(dropped); got.Trusted || got.Over() {
		t.Errorf("hosts drop it: %+v", got)
	}
	if got := narrow(first); got.Trusted {
		t.Error("hosts take it again")
	}
	h.do(t, NarrowCAOverlap{[]byte("first"), spec.CAOverlap{}}) // of a leader that has missed the rotation
	if h.View().CA().Overlap.Over() {
		t.Error("the overlap of another root ended")
	}
	if got := narrow(spec.CAOverlap{}); !got.Over() {
		t.Errorf("it is over: %+v", got)
	}
	if got := narrow(first); !got.Over() {
		t.Error("it came back")
	}
	if _, err := h.try(t, RecordHostRoot{"unknown", "second"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a host that nobody knows: %v", err)
	}
}
