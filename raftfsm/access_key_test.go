package raftfsm

import (
	"errors"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

func TestKeysAreStoredOnce(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateAccessKey{accesskey.Key{ID: "AKIA1", Secret: "s", Role: accesskey.RoleAdmin, CreatedAt: epoch}})
	same := h.do(t, CreateAccessKey{accesskey.Key{ID: "AKIA1", Secret: "s", CreatedAt: at(5)}}).(*accesskey.Key)
	if !same.CreatedAt.Equal(epoch) || len(h.View().AccessKeys()) != 1 || h.View().AccessKey("AKIA1").Role != accesskey.RoleAdmin {
		t.Errorf("%+v", same)
	}
	for what, key := range map[string]accesskey.Key{
		"another secret": {ID: "AKIA1", Secret: "other"}, "a sealed one": {ID: "AKIA1", Secret: "s", Sealed: []byte("s")},
	} {
		if _, err := h.try(t, CreateAccessKey{key}); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestARemovedKeyIsGone(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateAccessKey{accesskey.Key{ID: "AKIA1", Sealed: []byte("s"), Seal: "k", Role: accesskey.RoleRead, Cluster: "a"}})
	h.do(t, DeleteAccessKey{"AKIA1"})
	if h.View().AccessKey("AKIA1") != nil {
		t.Error("it is still there")
	}
	if _, err := h.try(t, DeleteAccessKey{"AKIA1"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
}

func TestARoleMayWhatTheOnesBeforeItMay(t *testing.T) {
	allowed := map[accesskey.Role][]accesskey.Role{accesskey.RoleRead: {accesskey.RoleRead}, accesskey.RoleSubmit: {accesskey.RoleRead, accesskey.RoleSubmit}, accesskey.RoleAdmin: {accesskey.RoleRead, accesskey.RoleSubmit, accesskey.RoleAdmin}, "": nil, "reader": nil}
	for role, may := range allowed {
		for _, needed := range accesskey.Roles {
			want := false
			for _, r := range may {
				want = want || r == needed
			}
			if role.May(needed) != want {
				t.Errorf("%q may %s: %t", role, needed, !want)
			}
		}
	}
}
