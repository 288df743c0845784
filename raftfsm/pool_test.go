package raftfsm

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestSettingsHaveDefaults(t *testing.T) {
	want := spec.Settings{Servers: 3, ReplaceAfter: 5 * time.Minute, TaskLostAfter: time.Minute, Incarnation: 1, Limits: spec.DefaultPoolLimits}
	if got := NewState().View().Settings(); got != want {
		t.Errorf("before the pool: %+v", got)
	}
	if got := newHistory(t).View().Settings(); got != want {
		t.Errorf("of a new pool: %+v", got)
	}
}

func TestAZeroKeepsTheSetting(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutSettings{spec.Settings{Servers: 5, TaskLostAfter: time.Hour}})
	got := h.do(t, PutSettings{spec.Settings{Servers: 1, Incarnation: 2}}).(spec.Settings)
	want := spec.Settings{Servers: 1, ReplaceAfter: 5 * time.Minute, TaskLostAfter: time.Hour, Incarnation: 2, Limits: spec.DefaultPoolLimits}
	if got != want || h.View().Settings() != want {
		t.Errorf("%+v", got)
	}
	before := h.snapshot(t)
	h.do(t, PutSettings{spec.Settings{Servers: 1}})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("the same again changed something")
	}
}

func TestSettingsThatCannotBeAreRefused(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutSettings{spec.Settings{Incarnation: 3}})
	bad := []spec.Settings{{Servers: 2}, {Servers: 7}, {Servers: -1}, {ReplaceAfter: -1}, {TaskLostAfter: -1}, {Incarnation: 2}, {Incarnation: -1}}
	for _, settings := range bad {
		if _, err := h.try(t, PutSettings{settings}); err == nil {
			t.Errorf("%+v was taken", settings)
		}
	}
	if _, err := NewState().Apply(1, PutSettings{spec.Settings{Servers: 1}}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("without a pool: %v", err)
	}
}
