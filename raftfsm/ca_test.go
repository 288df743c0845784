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
	h.do(t, PutCA{spec.CA{Certificate: []byte("first"), Key: []byte("k")}})
	second := h.do(t, PutCA{spec.CA{Certificate: []byte("second")}}).(*spec.CA)
	if string(second.Certificate) != "first" || string(h.View().CA().Key) != "k" {
		t.Errorf("in force: %+v", second)
	}
}
