package raftfsm

import (
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
