package raftfsm

import (
	"errors"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

func TestASealingKeyIsReplacedInStepsThatAnyLeaderTakes(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutCA{spec.CA{Certificate: []byte("ca"), SealedKey: []byte("k1"), Seal: "one"}})
	for _, id := range []string{"a", "b", "gone"} {
		h.do(t, CreateAccessKey{accesskey.Key{ID: id, Sealed: []byte(id + "1"), Seal: "one"}})
	}
	if !h.View().SealedOtherwise().Empty() {
		t.Error("something is to be sealed anew before anybody asked for it")
	}
	h.do(t, RotateSealingKey{spec.SealingKey{Name: "two", Since: at(1), Retired: []string{"one"}}})
	left := func(want int, wantCA bool) {
		t.Helper()
		if u := h.View().SealedOtherwise(); len(u.AccessKeys) != want || u.CA != wantCA {
			t.Errorf("%d are left, the CA %t", len(u.AccessKeys), u.CA)
		}
	}
	left(3, true)
	h.do(t, CreateAccessKey{accesskey.Key{ID: "early", Sealed: []byte("e"), Seal: "one"}}) // the CA is not sealed anew yet
	h.do(t, PutCA{spec.CA{Certificate: []byte("ca"), SealedKey: []byte("k2"), Seal: "two"}})
	if _, err := h.try(t, CreateAccessKey{accesskey.Key{ID: "late", Sealed: []byte("l"), Seal: "one"}}); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("servers may have removed the key: %v", err)
	}
	left(4, false)
	h.do(t, DeleteAccessKey{"gone"})
	resealed := func(id, secret string) accesskey.Resealed {
		return accesskey.Resealed{ID: id, From: "one", Sealed: []byte(secret), Seal: "two"}
	}
	step := ResealAccessKeys{[]accesskey.Resealed{resealed("a", "a2"), resealed("gone", "g2"), resealed("early", "e2")}}
	h.do(t, step)
	left(1, false)
	h.do(t, ResealAccessKeys{[]accesskey.Resealed{resealed("a", "another leader's"), resealed("b", "b2")}})
	left(0, false)
	if a := h.View().AccessKey("a"); string(a.Sealed) != "a2" || h.View().AccessKey("gone") != nil {
		t.Errorf("%+v", a)
	}
}
