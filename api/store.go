// Package api is everything that people and programs talk to: the ECS door, the plain HTTP door, logs, and the CLI.
package api

import (
	"context"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Store is what the doors need of the replicated state. A server satisfies it.
type Store interface {
	// View is linearizable: it holds every change acknowledged before the call.
	View(ctx context.Context) (*raftfsm.View, error)
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// Run places and records tasks; the reply is what RunTask answers.
	Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error)
	// Connected reports whether the host is known, not given up, and has been heard of lately.
	Connected(hostID string) bool
}

// TaskHost is what the doors need of the agent that runs a task.
type TaskHost interface {
	// Logs calls emit for each line, oldest first. It returns when the query is answered, or, following, when the
	// task's containers are gone and their logs are drained. An error of emit ends it and is returned.
	Logs(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error
	// Pulls is how far the image pulls of a task have come; empty when none is under way.
	Pulls(taskID string) []spec.Pull
}
