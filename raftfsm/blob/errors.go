package blob

import "errors"

var (
	// ErrNotHere is the error of a host that has not, or not yet, what it was asked for.
	ErrNotHere = errors.New("the host does not have it")
	// ErrBusy is the error of a host that gives others as much as it may already.
	ErrBusy = errors.New("the host gives others as much as it may")
)
