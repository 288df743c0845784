package spec

import (
	"errors"
	"fmt"

	"pinion/raftfsm/gpuuse"
)

// PoolLimits bound what the state of the whole pool holds, whoever made it. A zero field stands for its default.
type PoolLimits struct {
	Tasks             int `json:"tasks,omitempty"`             // that are not STOPPED; default 1,000,000
	Waiting           int `json:"waiting,omitempty"`           // that wait for a place, in all clusters; default 500,000
	Revisions         int `json:"revisions,omitempty"`         // of all task definitions; default 100,000
	RevisionsOfFamily int `json:"revisionsOfFamily,omitempty"` // default 10,000
}

// DefaultPoolLimits are those of a pool for which nothing else was said.
var DefaultPoolLimits = PoolLimits{Tasks: 1_000_000, Waiting: 500_000, Revisions: 100_000, RevisionsOfFamily: 10_000}

// Tally counts what an access key, a family or the pool has in the state. Tallies are derived from the objects: they are in no log entry
// and no snapshot, and cost a lookup.
type Tally struct {
	Tasks     int // that are not STOPPED
	Waiting   int // of those, that are PROVISIONING
	GPUMilli  int // of GPUs that those hold or wait for, in thousandths of one; in a request AllHostGPUs: all of a host that is not known yet
	Revisions int // of task definitions
}

// Plus is the sum of two tallies; with the sign -1 the difference.
func (t Tally) Plus(other Tally, sign int) Tally {
	return Tally{t.Tasks + sign*other.Tasks, t.Waiting + sign*other.Waiting, t.GPUMilli + sign*other.GPUMilli, t.Revisions + sign*other.Revisions}
}

// Tally returns the amounts that the task counts for in limits: none when it is STOPPED.
func (t *Task) Tally() Tally {
	switch t.LastStatus {
	case Stopped:
		return Tally{}
	case Provisioning:
		return Tally{Tasks: 1, Waiting: 1, GPUMilli: t.countedMilli()}
	}
	return Tally{Tasks: 1, GPUMilli: t.countedMilli()}
}

// TallyOf returns the sum of the tallies of the tasks of a run, and the owner of their access key: all of them have the same. GPUMilli is AllHostGPUs when tasks wait for all of
// their hosts.
func TallyOf(tasks []*Task) (sum Tally, owner string) {
	for _, task := range tasks {
		sum, owner = sum.Plus(task.Tally(), 1), task.KeyOwner()
	}
	if sum.Waiting > 0 && tasks[0].Owner != nil && tasks[0].Owner.GPUs == AllHostGPUs {
		sum.GPUMilli = AllHostGPUs
	}
	return sum, owner
}

// ErrLimit refuses what would go beyond a limit; a LimitError says which.
var ErrLimit = errors.New("limit exceeded")

// LimitError says which limit of what a request would exceed, and how it can be raised.
type LimitError struct {
	Of    string // "access key AKIA...", "the pool"
	What  string // "waiting tasks"
	Limit int
	Used  int    // before the request
	More  int    // asked for by the request
	Raise string // what a person can do
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s may have %d %s and has %d: %d more are too many. %s.", e.Of, e.Limit, e.What, e.Used, e.More, e.Raise)
}

// Unwrap makes errors.Is(err, ErrLimit) true.
func (e *LimitError) Unwrap() error { return ErrLimit }

// FirstExceeded returns the first of the limits that its request would exceed, as a *LimitError. A request for nothing more passes, also above the limit.
func FirstExceeded(limits ...LimitError) error {
	for _, l := range limits {
		if l.More > 0 && l.Limit != NoLimit && l.Used+l.More > l.Limit {
			exceeded := l // so that limits that hold, which are asked for each run, are not on the heap
			return &exceeded
		}
	}
	return nil
}

// CheckTasks refuses tasks beyond the limits of a pool that has so much. The error is a *LimitError.
func (l PoolLimits) CheckTasks(has, more Tally) error {
	return FirstExceeded(
		LimitError{Of: "the pool", What: "tasks that are not STOPPED", Limit: l.Tasks, Used: has.Tasks, More: more.Tasks, Raise: raisePool + "--tasks`"},
		LimitError{Of: "the pool", What: "waiting tasks", Limit: l.Waiting, Used: has.Waiting, More: more.Waiting, Raise: raisePool + "--waiting`"},
	)
}

// CheckRevision refuses one more revision of a family in a pool that has so much. The error is a *LimitError.
func (l PoolLimits) CheckRevision(has Tally, family string, of Tally) error {
	return FirstExceeded(
		LimitError{Of: "the pool", What: "revisions of task definitions", Limit: l.Revisions, Used: has.Revisions, More: 1, Raise: DeleteRevisions + raisePool + "--revisions`"},
		LimitError{Of: "the family " + family, What: "revisions", Limit: l.RevisionsOfFamily, Used: of.Revisions, More: 1, Raise: DeleteRevisions + raisePool + "--revisions-of-family`"},
	)
}

// WholeGPUs is thousandths of GPUs in GPUs, rounded up.
func WholeGPUs(milli int) int { return (milli + gpuuse.Milli - 1) / gpuuse.Milli }

// NoLimit as LimitError.Limit is none.
const NoLimit = -1

// raisePool says how people raise a limit of the pool; its flag and a back quote follow.
const raisePool = "An administrator raises the limit with `pinion limits "

// DeleteRevisions says how people get below a limit of revisions.
const DeleteRevisions = "Deregister and delete old ones. "

// MaxQueued bounds the tasks that wait in one cluster. Tasks that are tried again come on top of it.
const MaxQueued = 200_000

// ErrQueueFull refuses tasks beyond MaxQueued, in the words that ECS clients match.
var ErrQueueFull = fmt.Errorf("provisioning capacity limit exceeded: at most %d tasks can wait in a cluster, try again when some have started", MaxQueued)
