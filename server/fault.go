package server

import (
	"errors"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// fault is an error on its way between hosts: its words, and which of the errors that callers tell apart it wraps.
type fault struct {
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

// faults is the table of errors that keep their meaning between hosts; the first that fits counts.
var faults = []struct {
	kind string
	err  error
}{
	{"outcomeUnknown", ErrOutcomeUnknown},
	{"notLeader", ErrNotLeader},
	{"readOnly", ErrReadOnly},
	{"outdated", ErrOutdated},
	{"unavailable", spec.ErrUnavailable},
	{"removed", spec.ErrRemoved},
	{"tokenUnknown", spec.ErrTokenUnknown},
	{"tokenWrong", spec.ErrTokenWrong},
	{"tokenRevoked", spec.ErrTokenRevoked},
	{"tokenExpired", spec.ErrTokenExpired},
	{"tokenUsedUp", spec.ErrTokenUsedUp},
	{"notFound", spec.ErrNotFound},
	{"inUse", spec.ErrInUse},
	{"inactive", spec.ErrInactive},
	{"tooNew", raftfsm.ErrTooNew},
}

// faultOf is nil for nil.
func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	for _, known := range faults {
		if errors.Is(err, known.err) {
			return &fault{Kind: known.kind, Text: err.Error()}
		}
	}
	return &fault{Text: err.Error()}
}

// err is the error as the other host had it; nil for nil.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	for _, known := range faults {
		if known.kind == f.Kind {
			return &distant{f.Text, known.err}
		}
	}
	return errors.New(f.Text)
}

// distant is an error of another host.
type distant struct {
	text string
	is   error
}

func (d *distant) Error() string { return d.text }

// Unwrap makes errors.Is see what the other host's error wrapped.
func (d *distant) Unwrap() error { return d.is }
