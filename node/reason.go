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
	cannotPull   = "CannotPullContainerError"
	cannotCreate = "CannotCreateContainerError"
	cannotStart  = "CannotStartContainerError"
	noNetwork    = "ContainerNetworkingError"
	noVolume     = "InvalidVolumeError"
	noDependency = "TaskDependencyError"
)

// startError is why a task could not be started. It reads "CannotPullContainerError: ...".
type startError struct {
	kind string
	at   *container // nil: the task as a whole
	err  error
}

func (e *startError) Error() string { return fmt.Sprintf("%s: %v", e.kind, e.err) }
func (e *startError) Unwrap() error { return e.err }

// failed makes nil of nil.
func failed(kind string, at *container, err error) error {
	if err == nil {
		return nil
	}
	return &startError{kind: kind, at: at, err: err}
}

// startKind tells an error of Containers.Start in ECS's words.
func startKind(err error) string {
	if errors.Is(err, ErrCreate) {
		return cannotCreate
	}
	return cannotStart
}

// lostIfUnknown makes an exit of the answer that there is no such container, because waiting for it is over.
func lostIfUnknown(e *Exit, err error) error {
	if !errors.Is(err, ErrUnknown) {
		return err
	}
	*e = lost("the container is not on this host any more")
	return nil
}

func lost(why string) Exit { return Exit{Code: -1, At: time.Now(), Lost: why} }

// describe writes the exit into a container's report. An exit code that is not known is left out.
func (e Exit) describe(report *spec.ContainerReport) {
	if e.Lost != "" {
		report.Reason = atMost("The exit code is not known: "+e.Lost, maxReason)
		return
	}
	report.ExitCode = &e.Code
	if e.OOM {
		report.Reason = "OutOfMemoryError: Container killed due to memory usage"
	}
}

// atMost cuts a text to n characters.
func atMost(text string, n int) string {
	count := 0
	for i := range text {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

func later(a, b spec.Status) spec.Status {
	if b.Rank() > a.Rank() {
		return b
	}
	return a
}
