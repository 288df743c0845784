package accesskey

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// CheckTasks refuses tasks beyond the limits of a key that has so much. The error wraps spec.ErrLimit.
func (k *Key) CheckTasks(has, more spec.Tally) error {
	if k.Grant.MaxTasks == 0 && k.Grant.MaxWaiting == 0 && k.Grant.MaxGPUs == nil {
		return nil // it is asked for each run, and most keys have no limits
	}
	of, gpus := k.describe(), spec.NoLimit
	if k.Grant.MaxGPUs != nil {
		gpus = *k.Grant.MaxGPUs
	}
	if gpus != spec.NoLimit && more.GPUMilli == spec.AllHostGPUs {
		return fmt.Errorf("%w: %s may have %d GPUs, and a task that waits for every GPU of its host cannot be held to that: ask for a number of GPUs", spec.ErrLimit, of, gpus)
	}
	moreGPUs := spec.WholeGPUs(more.GPUMilli)
	return spec.FirstExceeded(
		spec.LimitError{Of: of, What: "tasks that are not STOPPED", Limit: unlessZero(k.Grant.MaxTasks), Used: has.Tasks, More: more.Tasks, Raise: k.raise("--max-tasks")},
		spec.LimitError{Of: of, What: "waiting tasks", Limit: unlessZero(k.Grant.MaxWaiting), Used: has.Waiting, More: more.Waiting, Raise: k.raise("--max-waiting")},
		spec.LimitError{Of: of, What: "GPUs", Limit: gpus, Used: spec.WholeGPUs(has.GPUMilli+more.GPUMilli) - moreGPUs, More: moreGPUs, Raise: k.raise("--max-gpus")},
	)
}

// CheckRevision refuses one more revision by a key that has so much. The error is a *spec.LimitError.
func (k *Key) CheckRevision(has spec.Tally) error {
	return spec.FirstExceeded(spec.LimitError{Of: k.describe(), What: "revisions of task definitions", Limit: unlessZero(k.Grant.MaxRevisions),
		Used: has.Revisions, More: 1, Raise: spec.DeleteRevisions + k.raise("--max-revisions")})
}

// unlessZero is a limit of which zero means none.
func unlessZero(limit int) int {
	if limit == 0 {
		return spec.NoLimit
	}
	return limit
}

func (k *Key) raise(flag string) string {
	if k.Login != nil {
		return "Wait until some have ended, or have an administrator map a group of yours to more (`pinion oidc map " + flag + "`), and log in again"
	}
	return "Wait until some have ended, or have an administrator make a key with more (`pinion keys create " + flag + "`)"
}

func (k *Key) describe() string {
	if k.Login != nil {
		return k.Login.Person
	}
	return "access key " + k.ID
}
