package node

import (
	"errors"
	"fmt"
	"time"

	"pinion/raftfsm/spec"
)

// maxReason is how many characters of a reason ECS keeps.
const maxReason = 1024

// Names of ECS's errors that begin a reason.
const (
	kindCannotPull    = "CannotPullContainerError"
	kindCannotCreate  = "CannotCreateContainerError"
	kindCannotStart   = "CannotStartContainerError"
	kindNetworking    = "ContainerNetworkingError"
	kindInvalidVolume = "InvalidVolumeError"
	kindDependency    = "TaskDependencyError"
)

// startError is why a task could not be started. It reads "CannotPullContainerError: ...".
type startError struct {
	kind      string
	container *container // nil: the task as a whole
	err       error
}

func (e *startError) Error() string { return fmt.Sprintf("%s: %v", e.kind, e.err) }
func (e *startError) Unwrap() error { return e.err }

// newStartError makes nil of nil.
func newStartError(kind string, at *container, err error) error {
	if err == nil {
		return nil
	}
	return &startError{kind: kind, container: at, err: err}
}

// startErrorKind tells an error of Containers.Start in ECS's words.
func startErrorKind(err error) string {
	if errors.Is(err, ErrCreate) {
		return kindCannotCreate
	}
	return kindCannotStart
}

// exitIfNotFound makes an exit of the answer that there is no such container, because waiting for it is over.
func exitIfNotFound(e *Exit, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	*e = lostExit("the container is not on this host any more")
	return nil
}

func lostExit(why string) Exit { return Exit{Code: -1, At: time.Now(), Lost: why} }

// fillReport writes the exit into a container's report. An exit code that is not known is left out.
func (e Exit) fillReport(report *spec.ContainerReport) {
	if e.Lost != "" {
		report.Reason = truncate("The exit code is not known: "+e.Lost, maxReason)
		return
	}
	report.ExitCode = &e.Code
	if e.OOM {
		report.Reason = "OutOfMemoryError: Container killed due to memory usage"
	}
}

// truncate cuts a text to n characters.
func truncate(text string, n int) string {
	count := 0
	for i := range text {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

func maxStatus(a, b spec.Status) spec.Status {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}
