package task

import (
	"errors"
	"fmt"

	"pinion/node/runtime"
)

// Kinds of ECS errors that begin the reason of a task that could not be started, also where a hook says why.
const (
	KindCannotStart = "CannotStartContainerError"
	KindResource    = "ResourceInitializationError" // what a task asks of its host or of the pool cannot be had

	kindCannotPull    = "CannotPullContainerError"
	kindCannotCreate  = "CannotCreateContainerError"
	kindNetworking    = "ContainerNetworkingError"
	kindInvalidVolume = "InvalidVolumeError"
	kindDependency    = "TaskDependencyError"
	kindGPUSharing    = "GPUSharingError" // Pinion's own, as is spec.GPUFault: ECS has none for it
)

// StartError is why a task could not be started. It reads "CannotPullContainerError: ...".
type StartError struct {
	Kind      string     // ECS's name of the error
	Container *Container // nil: the task as a whole
	Err       error
}

func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// startError wraps an error; nil stays nil.
func startError(kind string, c *Container, err error) error {
	if err == nil {
		return nil
	}
	return &StartError{Kind: kind, Container: c, Err: err}
}

// startKind classifies an error of Containers.Start.
func startKind(err error) string {
	if errors.Is(err, runtime.ErrCreate) {
		return kindCannotCreate
	}
	return KindCannotStart
}

// asStartError keeps an error that is a StartError already.
func asStartError(kind string, c *Container, err error) error {
	var known *StartError
	if errors.As(err, &known) {
		return err
	}
	return startError(kind, c, err)
}
