// Package exit is the exit codes of the pinion command, and the errors that carry one.
package exit

import (
	"errors"
	"fmt"
	"io"

	"pinion/api/cli/format"
)

// Exit codes. `pinion run` also exits with the code of the container.
const (
	Failure     = 1
	Usage       = 2
	Locked      = 78  // the keys of this host do not open: an operator has to do something, trying again does not help
	NotStarted  = 125 // the task did not start
	HungUp      = 129 // left because the terminal went away
	Interrupted = 130 // left by Ctrl-C
)

// ErrSilent is the text-less reason of an Error: everything was said already, only the exit code is left to give.
var ErrSilent = errors.New("silent exit")

// Error is an error with an exit code of its own.
type Error struct {
	Code int
	Err  error // ErrSilent: nothing is printed
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error beneath the exit code.
func (e *Error) Unwrap() error { return e.Err }

// ExitCode returns the exit code.
func (e *Error) ExitCode() int { return e.Code }

// Silent is an error that prints nothing and exits with the code.
func Silent(code int) error { return &Error{Code: code, Err: ErrSilent} }

// Errorf is an error with the exit code and a text as of fmt.Errorf.
func Errorf(code int, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Usagef is the error of a command line that is wrong.
func Usagef(format string, args ...any) error { return Errorf(Usage, format, args...) }

// Join is one error of several, a line each, with the exit code of the first one; nil are left out, and without any it is nil.
func Join(errs ...error) error {
	joined := errors.Join(errs...)
	several, is := joined.(interface{ Unwrap() []error })
	if is && len(several.Unwrap()) == 1 {
		return several.Unwrap()[0]
	}
	return joined
}

// Report prints an error as the user sees it, and returns the exit code: 0 without an error.
func Report(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, ErrSilent) {
		fmt.Fprintln(w, "pinion:", format.Plain(err.Error()))
	}
	if coded, ok := errors.AsType[*Error](err); ok {
		return coded.Code
	}
	return Failure
}
