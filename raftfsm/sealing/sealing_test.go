package sealing_test

import (
	"errors"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/sealing"
	"pinion/raftfsm/spec"
)

func TestASealingKeyIsReplacedInStepsThatAnyLeaderTakes(t *testing.T) {
	h := raftfsmtest.New(t)
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("ca"), SealedKey: []byte("k1"), Seal: "one"}})
	for _, id := range []string{"a", "b", "gone"} {
		raftfsmtest.Change(h, credential.Create{Key: accesskey.Key{ID: id, Sealed: []byte(id + "1"), Seal: "one"}})
	}
	if !sealing.Outdated(h.View()).Empty() {
		t.Error("something is to be sealed anew before anybody asked for it")
	}
	raftfsmtest.Change(h, sealing.Rotate{Key: sealing.Key{Name: "two", Since: raftfsmtest.At(1), Retired: []string{"one"}}})
	left := func(want int, wantCA bool) {
		t.Helper()
		if u := sealing.Outdated(h.View()); len(u.AccessKeys) != want || u.CA != wantCA {
			t.Errorf("%d are left, the CA %t", len(u.AccessKeys), u.CA)
		}
	}
	left(3, true)
	raftfsmtest.Change(h, credential.Create{Key: accesskey.Key{ID: "early", Sealed: []byte("e"), Seal: "one"}}) // the CA is not sealed anew yet
	raftfsmtest.Change(h, ca.Put{Authority: spec.CA{Certificate: []byte("ca"), SealedKey: []byte("k2"), Seal: "two"}})
	if _, err := h.Try(raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: "late", Sealed: []byte("l"), Seal: "one"}})); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("servers may have removed the key: %v", err)
	}
	left(4, false)
	raftfsmtest.Change(h, credential.Delete{ID: "gone"})
	resealed := func(id, secret string) accesskey.Resealed {
		return accesskey.Resealed{ID: id, From: "one", Sealed: []byte(secret), Seal: "two"}
	}
	step := credential.Reseal{Keys: []accesskey.Resealed{resealed("a", "a2"), resealed("gone", "g2"), resealed("early", "e2")}}
	raftfsmtest.Change(h, step)
	left(1, false)
	raftfsmtest.Change(h, credential.Reseal{Keys: []accesskey.Resealed{resealed("a", "another leader's"), resealed("b", "b2")}})
	left(0, false)
	if a := h.View().AccessKey("a"); string(a.Sealed) != "a2" || h.View().AccessKey("gone") != nil {
		t.Errorf("%+v", a)
	}
}
