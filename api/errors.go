package api

import (
	"context"
	"errors"
	"net/http"

	"pinion/api/cloudwatch"
	"pinion/api/ecs"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Types of errors that only the doors answer with.
const (
	tooLarge       = "RequestEntityTooLargeException"
	requestTimeout = "RequestTimeoutException"
	notFound       = "NotFoundException" // ECS has an error of its own for resources, which is 400
	notAllowed     = "MethodNotAllowedException"
	accessDenied   = ecs.AccessDenied
	throttled      = "ThrottlingException"
	errReplayed    = "RequestThrottledException"
	gone           = "GoneException" // of events that are not remembered any more
)

// errorTypes say what the errors of the rooms below become. The first that errors.Is finds counts. Errors about one
// resource get their words where the request is known (package ecs); these are for what slips through in a race.
var errorTypes = []struct {
	err  error
	kind string
}{
	{spec.ErrUnavailable, wire.Server},
	{context.DeadlineExceeded, wire.Server},
	{context.Canceled, wire.Server},
	{spec.ErrNoHosts, wire.InvalidParameter},
	{spec.ErrInactive, wire.InvalidParameter},
	{spec.ErrClientTokenConflict, "ConflictException"},
	{spec.ErrInUse, "ResourceInUseException"},
	{raftfsm.ErrTooNew, wire.Client},
	{spec.ErrQueueFull, wire.Client},
	{spec.ErrNotFound, wire.Client},
}

// statuses are the types whose status is not 400, which is ECS's for every error that is the client's. SDKs retry
// 5xx and leave the rest.
var statuses = map[string]int{
	wire.Server:    http.StatusInternalServerError,
	tooLarge:       http.StatusRequestEntityTooLarge,
	requestTimeout: http.StatusRequestTimeout,
	notFound:       http.StatusNotFound,
	notAllowed:     http.StatusMethodNotAllowed,
	gone:           http.StatusGone,
	accessDenied:   http.StatusForbidden,
	throttled:      http.StatusServiceUnavailable,

	cloudwatch.Unavailable: http.StatusServiceUnavailable,
}

// toWireError turns any error into the one that is sent, and its status.
func toWireError(err error) (*wire.Error, int) {
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok {
		refusal = wire.Errorf(errorType(err), "%v", err)
	}
	if status, ok := statuses[refusal.Type]; ok {
		return refusal, status
	}
	return refusal, http.StatusBadRequest
}

// errorType is ServerException for what nobody foresaw: that is a fault of ours, not the client's.
func errorType(err error) string {
	for _, s := range errorTypes {
		if errors.Is(err, s.err) {
			return s.kind
		}
	}
	return wire.Server
}
