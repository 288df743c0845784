package rpc

import (
	"errors"

	"pinion/raftfsm"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// WireError is an error on its way between hosts: its text, and which of the errors that callers tell apart it wraps.
type WireError struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
	Host string `json:"host,omitempty"` // of a spec.RemovedError
}

// wireKinds is the table of errors that keep their meaning between hosts; the first match counts.
var wireKinds = []struct {
	kind string
	err  error
}{
	{"outcomeUnknown", spec.ErrOutcomeUnknown},
	{"notLeader", spec.ErrNotLeader},
	{"readOnly", spec.ErrReadOnly},
	{"stateFull", spec.ErrStateFull},
	{"outdated", spec.ErrOutdated},
	{"unavailable", spec.ErrUnavailable},
	{"removed", spec.ErrRemoved},
	{"elsewhere", spec.ErrHostElsewhere},
	{"tokenUnknown", jointoken.ErrUnknown},
	{"tokenWrong", jointoken.ErrWrong},
	{"tokenRevoked", jointoken.ErrRevoked},
	{"tokenExpired", jointoken.ErrExpired},
	{"tokenUsedUp", jointoken.ErrUsedUp},
	{"unresolved", valuefrom.ErrUnresolved},
	{"notFound", spec.ErrNotFound},
	{"inUse", spec.ErrInUse},
	{"inactive", spec.ErrInactive},
	{"tooNew", raftfsm.ErrTooNew},
}

// ToWire is the wire form of an error; nil for nil.
func ToWire(err error) *WireError {
	if err == nil {
		return nil
	}
	for _, known := range wireKinds {
		if errors.Is(err, known.err) {
			wire := &WireError{Kind: known.kind, Text: err.Error()}
			if removed, is := errors.AsType[*spec.RemovedError](err); is {
				wire.Host = removed.HostID
			}
			return wire
		}
	}
	return &WireError{Text: err.Error()}
}

// Err is the error as the other host had it; nil for nil.
func (e *WireError) Err() error {
	if e == nil {
		return nil
	}
	for _, known := range wireKinds {
		switch {
		case known.kind != e.Kind:
		case known.err == spec.ErrRemoved && e.Host != "":
			return &remoteError{e.Text, spec.Removed(e.Host)}
		default:
			return &remoteError{e.Text, known.err}
		}
	}
	return errors.New(e.Text)
}

// remoteError is an error of another host.
type remoteError struct {
	text string
	kind error
}

func (r *remoteError) Error() string { return r.text }

// Unwrap makes errors.Is see what the other host's error wrapped.
func (r *remoteError) Unwrap() error { return r.kind }
