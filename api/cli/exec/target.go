package exec

import (
	"context"
	"slices"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/client"
)

// startedTask is the id of the task that word means. A task that starts is waited for; the pool itself says why a command cannot run in one that is
// queued or has stopped.
func startedTask(ctx context.Context, inv *invocation.Invocation, cluster, word string) (string, error) {
	ids, err := selection.Resolve(ctx, inv, cluster, []string{word})
	if err != nil {
		return "", err
	}
	id, waited := ids[0], false
	watch := inv.WatchTask(cluster, id)
	defer watch.Close()
	task, err := watch.Until(ctx, func(t client.Task) bool { return !starting(t) }, func(t client.Task) {
		if starting(t) && !waited {
			waited = true
			inv.Notef("task %s is starting ...", format.ID(id))
		}
	})
	if err == nil && waited && task.Stopped() {
		return "", exit.Errorf(exit.NotStarted, "task %s did not start: `pinion why %s` says more", format.ID(id), format.ID(id))
	}
	return id, err
}

// starting reports whether a task has a host on which it is about to run.
func starting(t client.Task) bool {
	return t.Instance != "" && slices.Contains([]string{"PROVISIONING", "PENDING", "ACTIVATING"}, t.Status)
}
