package cli

import (
	"context"
	"errors"
	"time"

	"pinion/api/cli/client"
)

const (
	patience  = 60 // tries, one a second, before a host counts as gone
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// patiently repeats a step while the host is away for a moment: it restarts, and its tasks run on without it.
func (d *desk) patiently(ctx context.Context, step func() error) error {
	for tries := 0; ; tries++ {
		err := step()
		if err == nil || !away(err) || tries == patience {
			return err
		}
		if tries == 0 {
			d.note("the host does not answer; tasks run on without it. Trying again for a minute ...")
		}
		if err := d.pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// away reports whether the error is one that passes when a host comes back.
func away(err error) bool {
	var refused *client.APIError
	if errors.As(err, &refused) {
		return refused.Status >= 500
	}
	return errors.Is(err, client.ErrUnreachable) || errors.Is(err, client.ErrLogBroke) || errors.Is(err, client.ErrEventsBroke)
}

// await looks at a task again and again until it is as wanted, and returns it. Each look is shown to seen first.
func (d *desk) await(ctx context.Context, cluster, id string, wanted func(client.Task) bool, seen func(client.Task)) (client.Task, error) {
	for wait := firstLook; ; wait = min(wait*2, lastLook) {
		var task client.Task
		err := d.patiently(ctx, func() error {
			tasks, err := d.describe(ctx, cluster, []string{id})
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
		if err := d.pause(ctx, wait); err != nil {
			return task, err
		}
	}
}
