// Package field has the errors that checks of inputs return: which member is wrong, and how.
package field

import (
	"fmt"
	"slices"
	"strings"
)

// Error is a validation error of one member of an input. It has no type of AWS: the operation that reads the input knows
// the type that its clients expect.
type Error struct {
	Path    string // where the member stands: "containerDefinitions[0].healthCheck.interval"
	Message string // for people: the member, the fault, and the remedy
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an Error whose message stands by itself.
func Errorf(path, format string, args ...any) error {
	return &Error{Path: path, Message: fmt.Sprintf(format, args...)}
}

// OneOf refuses a value that is not among those allowed. An absent one passes.
func OneOf(path, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return Errorf(path, "%s must be one of %s, not %q", path, strings.Join(allowed, ", "), value)
}

// AllOf is OneOf for the items of a list such as include, of which none may be empty.
func AllOf(path string, values []string, allowed ...string) error {
	for _, value := range values {
		if err := Choice(path, path, value, allowed...); err != nil {
			return err
		}
	}
	return nil
}

// Choice refuses a value that is absent or not among those allowed. The message calls the member by the label.
func Choice(path, label, value string, allowed ...string) error {
	if value != "" && slices.Contains(allowed, value) {
		return nil
	}
	return Errorf(path, "%s must hold only %s, not %q", label, strings.Join(allowed, ", "), value)
}

// Join puts a member's name, "memory" or "[0]", behind the path of what it belongs to.
func Join(path, member string) string {
	if path == "" || member == "" || member[0] == '[' {
		return path + member
	}
	return path + "." + member
}

// Index is the path of an item of a list.
func Index(path string, at int) string { return fmt.Sprintf("%s[%d]", path, at) }
