package cli

import (
	"context"
	"errors"
	"time"

	"pinion/api/cli/client"
)

const (
	retryLimit = 60 // tries, one a second, before a host counts as gone
	pollMin    = 20 * time.Millisecond
	pollMax    = 500 * time.Millisecond
)

// retryUnavailable repeats a step while the host is away for a moment: it restarts, and its tasks run on without it.
func (s *session) retryUnavailable(ctx context.Context, step func() error) error {
	for tries := 0; ; tries++ {
		err := step()
		if err == nil || !isUnavailable(err) || tries == retryLimit {
			return err
		}
		if tries == 0 {
			s.notef("the host does not answer; tasks run on without it. Trying again for a minute ...")
		}
		if err := s.sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// isUnavailable reports whether the error is one that passes when a host comes back.
func isUnavailable(err error) bool {
	var refused *client.APIError
	if errors.As(err, &refused) {
		return refused.Status >= 500
	}
	return errors.Is(err, client.ErrUnreachable) || errors.Is(err, client.ErrLogInterrupted) || errors.Is(err, client.ErrEventsInterrupted)
}

// pollTask looks at a task again and again until it is as wanted, and returns it. Each look is shown to seen first.
func (s *session) pollTask(ctx context.Context, cluster, id string, wanted func(client.Task) bool, seen func(client.Task)) (client.Task, error) {
	for wait := pollMin; ; wait = min(wait*2, pollMax) {
		var task client.Task
		err := s.retryUnavailable(ctx, func() error {
			tasks, err := s.describeTasks(ctx, cluster, []string{id})
			if err == nil {
				task = tasks[0]
			}
			return err
		})
		if err != nil {
			return task, err
		}
		if seen(task); wanted(task) {
			return task, nil
		}
		if err := s.sleep(ctx, wait); err != nil {
			return task, err
		}
	}
}
