package query

import "fmt"

// Error says what is wrong with an expression, and where.
type Error struct {
	Column  int    // of the character that is wrong, from 1; one past the last when something is missing at the end
	Message string // without the column
}

func (e *Error) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Message) }

func errorAt(column int, format string, args ...any) *Error {
	return &Error{Column: column, Message: fmt.Sprintf(format, args...)}
}
