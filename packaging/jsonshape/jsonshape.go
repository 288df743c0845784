// Package jsonshape bounds what JSON of others may stand for before it is decoded: a value of two bytes, as {}, takes hundreds of bytes when it is decoded.
package jsonshape

import (
	"errors"
	"fmt"
)

// ErrTooMany is wrapped by the errors of Check.
var ErrTooMany = errors.New("the JSON has too many elements")

// Check refuses a text that has more than maxElements elements of arrays and members of objects, where an empty array or object counts as one. It allocates
// nothing, and does not find what else is wrong with the text.
func Check(text []byte, maxElements int) error {
	elements, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			elements++
			if elements > maxElements {
				return fmt.Errorf("%w: %d is the most", ErrTooMany, maxElements)
			}
		}
	}
	return nil
}
