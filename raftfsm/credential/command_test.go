package credential_test

import (
	"errors"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

func TestKeysAreStoredOnce(t *testing.T) {
	h := raftfsmtest.New(t)
	raftfsmtest.Change(h, credential.Create{Key: accesskey.Key{ID: "AKIA1", Secret: "s", Role: accesskey.RoleAdmin, CreatedAt: raftfsmtest.Epoch}})
	same := raftfsmtest.Change(h, credential.Create{Key: accesskey.Key{ID: "AKIA1", Secret: "s", CreatedAt: raftfsmtest.At(5)}}).(*accesskey.Key)
	if !same.CreatedAt.Equal(raftfsmtest.Epoch) || len(credential.All(h.View())) != 1 || h.View().AccessKey("AKIA1").Role != accesskey.RoleAdmin {
		t.Errorf("%+v", same)
	}
	for what, key := range map[string]accesskey.Key{
		"another secret": {ID: "AKIA1", Secret: "other"}, "a sealed one": {ID: "AKIA1", Secret: "s", Sealed: []byte("s")},
	} {
		if _, err := h.Try(raftfsm.Wrap(credential.Create{Key: key})); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestARemovedKeyIsGone(t *testing.T) {
	h := raftfsmtest.New(t)
	raftfsmtest.Change(h, credential.Create{Key: accesskey.Key{ID: "AKIA1", Sealed: []byte("s"), Seal: "k", Role: accesskey.RoleRead, Cluster: "a"}})
	raftfsmtest.Change(h, credential.Delete{ID: "AKIA1"})
	if h.View().AccessKey("AKIA1") != nil {
		t.Error("it is still there")
	}
	if _, err := h.Try(raftfsm.Wrap(credential.Delete{ID: "AKIA1"})); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
}
