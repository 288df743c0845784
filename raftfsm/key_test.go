package raftfsm

import (
	"errors"
	"testing"
)

func TestKeysAreStoredOnce(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateKey{AccessKey{ID: "AKIA1", Secret: "s", Role: "admin", CreatedAt: epoch}})
	same := h.do(t, CreateKey{AccessKey{ID: "AKIA1", Secret: "s", CreatedAt: at(5)}}).(*AccessKey)
	if !same.CreatedAt.Equal(epoch) || len(h.View().Keys()) != 1 || h.View().Key("AKIA1").Role != "admin" {
		t.Errorf("%+v", same)
	}
	if _, err := h.try(t, CreateKey{AccessKey{ID: "AKIA1", Secret: "other"}}); !errors.Is(err, ErrInUse) {
		t.Errorf("another secret: %v", err)
	}
}
