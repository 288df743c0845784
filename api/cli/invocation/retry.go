package invocation

import (
	"context"
	"time"

	"pinion/api/client"
	"pinion/packaging/backoff"
)

// retryLimit is the number of retries, one a second, after which a host counts as gone.
const retryLimit = 60

// PollMin and PollMax bound the pause between two reads of a task.
const (
	PollMin = 20 * time.Millisecond
	PollMax = 500 * time.Millisecond
)

// RetryUnavailable repeats a step for a minute while no host answers: a host that restarts is back within seconds, and its
// tasks run on meanwhile.
func (inv *Invocation) RetryUnavailable(ctx context.Context, step func() error) error {
	noted := false
	delays := backoff.Backoff{Min: time.Second, Max: time.Second, Sleep: inv.Sleep}
	return delays.Retry(ctx, retryLimit, func() (again bool, err error) {
		if err = step(); err == nil || !client.IsUnavailable(err) || ctx.Err() != nil {
			return false, err
		}
		if !noted {
			inv.Notef("the host does not answer; its tasks run on. Retrying for up to a minute ...")
			noted = true
		}
		return true, err
	})
}
