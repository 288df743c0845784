package raftfsm

import (
	"errors"
	"testing"

	"pinion/raftfsm/spec"
)

func TestKeysAreStoredOnce(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateAccessKey{spec.AccessKey{ID: "AKIA1", Secret: "s", Role: spec.RoleAdmin, CreatedAt: epoch}})
	same := h.do(t, CreateAccessKey{spec.AccessKey{ID: "AKIA1", Secret: "s", CreatedAt: at(5)}}).(*spec.AccessKey)
	if !same.CreatedAt.Equal(epoch) || len(h.View().AccessKeys()) != 1 || h.View().AccessKey("AKIA1").Role != spec.RoleAdmin {
		t.Errorf("%+v", same)
	}
	for what, key := range map[string]spec.AccessKey{
		"another secret": {ID: "AKIA1", Secret: "other"}, "a sealed one": {ID: "AKIA1", Secret: "s", Sealed: []byte("s")},
	} {
		if _, err := h.try(t, CreateAccessKey{key}); !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestARemovedKeyIsGone(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateAccessKey{spec.AccessKey{ID: "AKIA1", Sealed: []byte("s"), Seal: "k", Role: spec.RoleRead, Cluster: "a"}})
	h.do(t, DeleteAccessKey{"AKIA1"})
	if h.View().AccessKey("AKIA1") != nil {
		t.Error("it is still there")
	}
	if _, err := h.try(t, DeleteAccessKey{"AKIA1"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("again: %v", err)
	}
}

func TestARoleMayWhatTheOnesBeforeItMay(t *testing.T) {
	allowed := map[spec.Role][]spec.Role{spec.RoleRead: {spec.RoleRead}, spec.RoleSubmit: {spec.RoleRead, spec.RoleSubmit}, spec.RoleAdmin: {spec.RoleRead, spec.RoleSubmit, spec.RoleAdmin}, "": nil, "reader": nil}
	for role, may := range allowed {
		for _, needed := range spec.Roles {
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
