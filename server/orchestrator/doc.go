// Package orchestrator holds the reconcilers that carry a task through its life beside its placement. Each compares the
// recorded state with what ought to follow from it, and proposes the difference. Proposing it twice changes nothing, so a new
// leader goes on from what it finds.
package orchestrator

import (
	"context"
	"time"

	"pinion/raftfsm"
)

// Proposer records changes while this node leads.
type Proposer interface {
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	State() *raftfsm.State
	Now() time.Time
}
