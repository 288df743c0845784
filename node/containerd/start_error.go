package containerd

import (
	"fmt"
	"strings"

	"github.com/containerd/errdefs/pkg/errgrpc"

	"pinion/raftfsm/lazyregexp"
)

// noProgram is the error of a command that is not in its image.
var noProgram = lazyregexp.New(`exec: "([^"]+)": (?:executable file not found in \$PATH|stat [^:]*: no such file or directory)$`)

// shortenError keeps the part of the runtime's long error chain that helps people.
func shortenError(err error) error {
	err = errgrpc.ToNative(err)
	text := err.Error()
	for _, noise := range []string{
		"unable to start container process: ", "error during container init: ", "runc create failed: ", "runc did not terminate successfully: ",
	} {
		if _, rest, found := strings.Cut(text, noise); found {
			text = rest
		}
	}
	text, _, _ = strings.Cut(text, ": unknown")
	return newRuntimeError(text, err)
}

func newRuntimeError(text string, cause error) *runtimeError {
	if missing := noProgram.FindStringSubmatch(text); missing != nil {
		text += fmt.Sprintf(": the image has no program %q", missing[1])
	}
	return &runtimeError{text: strings.TrimSpace(text), cause: cause}
}

// runtimeError is an error with a short text in place of a long one.
type runtimeError struct {
	text  string
	cause error
}

func (e *runtimeError) Error() string { return e.text }

func (e *runtimeError) Unwrap() error { return e.cause }
