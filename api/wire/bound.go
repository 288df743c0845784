package wire

import "runtime"

const (
	// maxElements is how many members and elements the text of an input has at most. An element is two bytes there, and hundreds when it is decoded. The
	// largest inputs, task definitions of 10 containers, have some thousands.
	maxElements = 20_000
	// SmallInput is the size in bytes up to which an input costs next to nothing to parse.
	SmallInput = 4 << 10
)

// parsers has a place for each input larger than SmallInput that is parsed: one processor less than there are, so that what leads the pool is never
// kept waiting by what anybody sends.
var parsers = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))

// Bounded runs parse, which computes for as long as an input of so many bytes makes it, and waits for nothing. Few large inputs are parsed at once, and
// the others wait for their turn. parse must not call Bounded.
func Bounded(size int, parse func() error) error {
	if size <= SmallInput {
		return parse()
	}
	parsers <- struct{}{}
	defer func() { <-parsers }()
	return parse()
}

// errTooManyElements refuses a text that is small and stands for much.
func errTooManyElements() error {
	return Errorf(Serialization, "the body has more than %d members and elements: send it in parts", maxElements)
}

// checkYAML refuses a YAML text of too many elements. It counts all that may begin one, in the text of strings too, since these need no quotes.
func checkYAML(body []byte) error {
	elements := 0
	for i, c := range body {
		switch c {
		case ',', '{', '[', '\n', ':':
			elements++
		case '-':
			if i+1 < len(body) && body[i+1] == ' ' {
				elements++
			}
		}
	}
	if elements > maxElements {
		return errTooManyElements()
	}
	return nil
}
