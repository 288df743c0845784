package server

import (
	"errors"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// wireError is an error on its way between hosts: its words, and which of the errors that callers tell apart it wraps.
type wireError struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

// wireErrors is the table of errors that keep their meaning between hosts; the first that fits counts.
var wireErrors = []struct {
	kind string
	err  error
}{
	{"outcomeUnknown", ErrOutcomeUnknown},
	{"notLeader", ErrNotLeader},
	{"readOnly", ErrReadOnly},
	{"outdated", ErrOutdated},
	{"unavailable", spec.ErrUnavailable},
	{"removed", spec.ErrRemoved},
	{"tokenUnknown", spec.ErrJoinTokenUnknown},
	{"tokenWrong", spec.ErrJoinTokenWrong},
	{"tokenRevoked", spec.ErrJoinTokenRevoked},
	{"tokenExpired", spec.ErrJoinTokenExpired},
	{"tokenUsedUp", spec.ErrJoinTokenUsedUp},
	{"notFound", spec.ErrNotFound},
	{"inUse", spec.ErrInUse},
	{"inactive", spec.ErrInactive},
	{"tooNew", raftfsm.ErrTooNew},
}

// toWireError is nil for nil.
func toWireError(err error) *wireError {
	if err == nil {
		return nil
	}
	for _, known := range wireErrors {
		if errors.Is(err, known.err) {
			return &wireError{Kind: known.kind, Text: err.Error()}
		}
	}
	return &wireError{Text: err.Error()}
}

// toError is the error as the other host had it; nil for nil.
func (f *wireError) toError() error {
	if f == nil {
		return nil
	}
	for _, known := range wireErrors {
		if known.kind == f.Kind {
			return &remoteError{f.Text, known.err}
		}
	}
	return errors.New(f.Text)
}

// remoteError is an error of another host.
type remoteError struct {
	text string
	kind error
}

func (d *remoteError) Error() string { return d.text }

// Unwrap makes errors.Is see what the other host's error wrapped.
func (d *remoteError) Unwrap() error { return d.kind }
