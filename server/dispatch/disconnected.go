package dispatch

import "pinion/raftfsm/spec"

// disconnectedError: this host has no connection to the pool. It wraps spec.ErrNotFound, so that the agent joins again.
type disconnectedError struct {
	text  string
	cause error
}

func (e *disconnectedError) Error() string { return e.text }

// Unwrap makes errors.Is see both that no server knows the host, and why.
func (e *disconnectedError) Unwrap() []error { return []error{spec.ErrNotFound, e.cause} }

var errDisconnected = &disconnectedError{"this host is not in touch with the pool", spec.ErrNotLeader}

var errNoServer = spec.Unavailable("this host knows no server of the pool that it could ask; it tries on")
