package raftfsm

import (
	"pinion/raftfsm/spec"
	"testing"
)

func TestTheFirstAuthorityStays(t *testing.T) {
	h := newHistory(t)
	if h.View().Authority() != nil {
		t.Fatal("there is one already")
	}
	h.do(t, PutAuthority{spec.Authority{Certificate: []byte("first"), Key: []byte("k")}})
	second := h.do(t, PutAuthority{spec.Authority{Certificate: []byte("second")}}).(*spec.Authority)
	if string(second.Certificate) != "first" || string(h.View().Authority().Key) != "k" {
		t.Errorf("in force: %+v", second)
	}
}
