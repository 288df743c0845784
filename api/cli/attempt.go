package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pinion/api/cli/client"
)

// attemptPatience is how many looks, half a second apart, the next attempt at a task's work may take to be recorded.
const attemptPatience = 20

// nextAttempt finds the task that does again what a failed one did, if there is to be one.
func (w *watch) nextAttempt(ctx context.Context, failed client.Task) (next client.Task, again bool, err error) {
	if !w.mayRunAgain(failed) {
		return next, false, nil
	}
	for range attemptPatience {
		tasks, err := w.attempts(ctx)
		if err != nil {
			return next, false, err
		}
		if next, again = successor(failed, tasks); again {
			return next, true, nil
		}
		if err := w.pause(ctx, 500*time.Millisecond); err != nil {
			return next, false, err
		}
	}
	return next, false, nil
}

// mayRunAgain says whether the pool will run a task again, as far as the flags tell.
func (w *watch) mayRunAgain(task client.Task) bool {
	if w.terms.Retries == 0 || task.StopCode == "UserInitiated" || attempt(task) >= w.terms.Retries {
		return false
	}
	code := container(task).ExitCode
	return code == nil || *code != 0 && (len(w.terms.RetryOn) == 0 || slices.Contains(w.terms.RetryOn, *code))
}

// attempts are all tasks that this command started, and those that run again what they did.
func (w *watch) attempts(ctx context.Context) (tasks []client.Task, err error) {
	err = w.patiently(ctx, func() error {
		ids, err := w.host.TaskIDsStartedBy(ctx, w.cluster, w.startedBy)
		if err == nil {
			tasks, _, err = w.host.Describe(ctx, w.cluster, ids)
		}
		return err
	})
	return tasks, err
}

// work is the first task that did what a task does.
func work(task client.Task) string {
	if first := task.Attribute("pinion.retry-of"); first != "" {
		return first
	}
	return task.ID()
}

// attempt is how often a task's work was tried before.
func attempt(task client.Task) int {
	n, _ := strconv.Atoi(task.Attribute("pinion.attempt")) // absent from the first
	return n
}

func successor(of client.Task, among []client.Task) (client.Task, bool) {
	at := slices.IndexFunc(among, func(t client.Task) bool { return work(t) == work(of) && attempt(t) > attempt(of) })
	if at < 0 {
		return client.Task{}, false
	}
	return among[at], true
}

// failureOf says how a task that did not succeed ended.
func failureOf(task client.Task) string {
	if code := container(task).ExitCode; code != nil {
		return fmt.Sprintf("exit code %d", *code)
	}
	return reasons(task)
}
