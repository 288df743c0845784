package cloudwatch

import (
	"context"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Logs reads what a container wrote, on whichever host that is.
type Logs interface {
	// Read calls emit for each line of the container of the task that the query asks for, oldest first; it does not follow.
	// An error of emit ends it and is returned. Any other error says that the host cannot tell.
	Read(ctx context.Context, task *spec.Task, q spec.LogQuery, emit func(spec.LogLine) error) error
}

// Request is one request for one operation. It is used by one goroutine.
type Request struct {
	Region   string        // of every ARN in the answer
	Cluster  string        // the only one whose tasks the caller may know of; empty: all
	View     *raftfsm.View // linearizable
	Logs     Logs          // safe for concurrent use
	Warnings []string      // what the answer lacks, for people
}

func (c *Request) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}
