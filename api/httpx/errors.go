package httpx

import (
	"context"
	"errors"
	"net/http"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// Types of errors that have no operation of ECS.
const (
	TooLarge       = "RequestEntityTooLargeException"
	RequestTimeout = "RequestTimeoutException"
	NotFound       = "NotFoundException" // of routes; ECS has an error of its own for each resource, which is 400
	NotAllowed     = "MethodNotAllowedException"
	Throttled      = "ThrottlingException"
	LimitExceeded  = "LimitExceededException"
	Replayed       = "RequestThrottledException"
	Gone           = "GoneException" // of events that the state does not remember any more
	Unavailable    = "ServiceUnavailableException"
)

// errorTypes maps the errors of the packages below to types on the wire; the first that errors.Is finds counts. An error
// about one resource gets its words where the request is known (package ecs); these are for what slips through in a race.
var errorTypes = []struct {
	err error
	typ string
}{
	{spec.ErrUnavailable, wire.Server},
	{context.DeadlineExceeded, wire.Server},
	{context.Canceled, wire.Server},
	{spec.ErrNoHosts, wire.InvalidParameter},
	{spec.ErrInactive, wire.InvalidParameter},
	{spec.ErrClientTokenConflict, "ConflictException"},
	{spec.ErrInUse, "ResourceInUseException"},
	{ended.ErrPage, wire.InvalidParameter},
	{raftfsm.ErrTooNew, wire.Client},
	{spec.ErrQueueFull, wire.Client},
	{spec.ErrForeign, wire.AccessDenied},
	{spec.ErrLimit, LimitExceeded},
	{spec.ErrKeyRemoved, "UnrecognizedClientException"},
	{spec.ErrNotFound, wire.Client},
}

// statuses are the types whose status is not 400, which is what ECS answers every client error with. SDKs retry 5xx and
// leave the rest.
var statuses = map[string]int{
	wire.Server:       http.StatusInternalServerError,
	TooLarge:          http.StatusRequestEntityTooLarge,
	RequestTimeout:    http.StatusRequestTimeout,
	NotFound:          http.StatusNotFound,
	NotAllowed:        http.StatusMethodNotAllowed,
	Gone:              http.StatusGone,
	wire.AccessDenied: http.StatusForbidden,
	Throttled:         http.StatusServiceUnavailable,
	Unavailable:       http.StatusServiceUnavailable,
}

// ToWireError turns any error into the one that is sent, and its HTTP status.
func ToWireError(err error) (*wire.Error, int) {
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok {
		refusal = wire.Errorf(errorType(err), "%v", err)
	}
	if status, ok := statuses[refusal.Type]; ok {
		return refusal, status
	}
	return refusal, http.StatusBadRequest
}

// errorType is ServerException for an unforeseen error: that is a fault of Pinion, not of the client.
func errorType(err error) string {
	for _, known := range errorTypes {
		if errors.Is(err, known.err) {
			return known.typ
		}
	}
	return wire.Server
}
