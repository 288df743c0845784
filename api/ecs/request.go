package ecs

import (
	"context"
	"fmt"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Store is what operations need of the replicated state, beside the view that comes with each call.
type Store interface {
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// Run places and records tasks.
	Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error)
	// Connected reports whether the host has been heard of lately.
	Connected(hostID string) bool
}

// Request is one call of one operation: who asks, through which door, and what the state was when they asked. A call is
// used by one goroutine.
type Request struct {
	Region     string            // of every ARN in the answer
	Principal  string            // ARN of who asks, recorded as registeredBy
	Scope      auth.ClusterScope // the only cluster that they may ask about
	Strictness wire.Strictness   // what the door does with unknown fields
	MaxCount   int               // tasks that one RunTask may ask for
	View       *raftfsm.View     // linearizable: holds everything acknowledged before the call
	Store      Store             // for changes
	Hosts      HostRemover       // for DeregisterContainerInstance; nil where no host can be removed
	Now        func() time.Time  // time stamps of what is recorded
	TaskCache  *TaskCache        // of all calls of this process; nil: nothing is remembered
	Warnings   []string          // what was accepted but ignored or rewritten, for people

	// What was looked up last: tasks that are asked about together mostly share it.
	lastDefinition struct {
		name  string
		found *spec.TaskDefinition
	}
	lastHost struct {
		id        string
		found     *spec.Host
		connected bool
	}
}

// lookupDefinition is "family:revision" in the view, nil when there is none.
func (c *Request) lookupDefinition(name string) *spec.TaskDefinition {
	if c.lastDefinition.name != name {
		c.lastDefinition.name, c.lastDefinition.found = name, c.View.Definition(name)
	}
	return c.lastDefinition.found
}

// lookupHost is the host with that id in the view, nil when there is none, and whether it has been heard of lately.
func (c *Request) lookupHost(id string) (host *spec.Host, connected bool) {
	last := &c.lastHost
	if last.id != id {
		last.id, last.found, last.connected = id, c.View.Host(id), c.Store.Connected(id)
	}
	return last.found, last.connected
}

// warn tells the caller about something that was accepted but does not do what they may think.
func (c *Request) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// apply records a command whose answer is a T.
func apply[T any](ctx context.Context, c *Request, command raftfsm.Command) (T, error) {
	var zero T
	answer, err := c.Store.Propose(ctx, command)
	if err != nil {
		return zero, err
	}
	typed, ok := answer.(T)
	if !ok {
		return zero, fmt.Errorf("the answer to %T is a %T, not a %T", command, answer, zero)
	}
	return typed, nil
}
