package query

import "fmt"

// Error describes an error in an expression and its position.
type Error struct {
	Column  int    // of the wrong character, from 1; one past the last when something is missing at the end
	Message string // without the column
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Message) }

func errorAt(column int, format string, args ...any) *Error {
	return &Error{Column: column, Message: fmt.Sprintf(format, args...)}
}
