package httpx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"pinion/api/wire"
	"pinion/packaging/clientnet"
	"pinion/raftfsm/spec"
)

func TestErrorsBecomeTypesAndStatuses(t *testing.T) {
	for _, c := range []struct {
		err    error
		typ    string
		status int
	}{
		{errors.New("disk on fire"), wire.Server, http.StatusInternalServerError}, // unforeseen: a fault of Pinion
		{context.DeadlineExceeded, wire.Server, http.StatusInternalServerError},
		{fmt.Errorf("view: %w", spec.ErrUnavailable), wire.Server, http.StatusInternalServerError},
		{fmt.Errorf("task x: %w", spec.ErrNotFound), wire.Client, http.StatusBadRequest},
		{fmt.Errorf("f:1: %w", spec.ErrInactive), wire.InvalidParameter, http.StatusBadRequest},
		{fmt.Errorf("%w", &spec.ClientTokenConflict{TaskIDs: nil}), "ConflictException", http.StatusBadRequest},
		{fmt.Errorf("wrapped: %w", wire.Errorf(NotFound, "There is no host.")), NotFound, http.StatusNotFound},
		{ErrThrottled("requests"), Throttled, http.StatusServiceUnavailable},
		{wire.Errorf(wire.AccessDenied, "no"), wire.AccessDenied, http.StatusForbidden},
	} {
		if refusal, status := ToWireError(c.err); refusal.Type != c.typ || status != c.status {
			t.Errorf("%v: %d %s, want %d %s", c.err, status, refusal.Type, c.status, c.typ)
		}
	}
}

func TestASemaphoreRefusesBeyondItsSize(t *testing.T) {
	s := AddressSemaphore{Size: 1}
	release, ok := s.TryAcquire("")
	if _, second := s.TryAcquire(""); !ok || second || s.Held() != 1 {
		t.Errorf("first %v, second %v, %d held", ok, second, s.Held())
	}
	release()
	release() // has no effect
	if _, ok := s.TryAcquire(""); !ok || s.Held() != 1 {
		t.Errorf("after the release: %v, %d held", ok, s.Held())
	}
}

func TestOneAddressGetsAPartOfTheSlots(t *testing.T) {
	s := AddressSemaphore{Size: 3, PerAddress: 2}
	var release func()
	for _, c := range []struct {
		remote string
		want   bool
	}{
		{"10.0.0.1:1", true}, {"10.0.0.1:2", true}, {"10.0.0.1:3", false}, {"[::ffff:10.0.0.1]:4", false}, {"10.0.0.2:1", true}, {"10.0.0.3:1", false},
	} {
		last, ok := s.TryAcquire(c.remote)
		if ok != c.want {
			t.Errorf("%s: %v", c.remote, ok)
		}
		if ok {
			release = last
		}
	}
	release()
	release() // has no effect
	if _, ok := s.TryAcquire("[2001:db8::1]:1"); !ok || s.Held() != 3 {
		t.Errorf("after the release: %v, %d held", ok, s.Held())
	}
	if clientnet.Prefix("[2001:db8::1]:1") != clientnet.Prefix("[2001:db8::ffff:0:0:2]:9") || clientnet.Prefix("[2001:db8::1]:1") == clientnet.Prefix("[2001:db8:0:1::1]:1") {
		t.Error("an IPv6 client counts by its /64")
	}
}
