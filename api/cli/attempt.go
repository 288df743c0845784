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

// runsAgain says whether there can be later attempts at the work of the tasks.
func (r *runner) runsAgain() bool { return r.terms.Retries > 0 || r.terms.Preemptible }

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
	code := container(task).ExitCode
	switch {
	case task.StopCode == "UserInitiated":
		return false
	case task.StopCode == "SpotInterruption": // it gave way, whatever its exit code
		return w.terms.Preemptible
	case task.StopCode == "ServiceSchedulerInitiated" && !w.terms.Gang: // at its time limit; in a gang it may be another's failure
		return false
	case code != nil && *code == 0:
		return false
	case number(task, "pinion.failed") >= w.terms.Retries:
		return false
	}
	return code == nil || len(w.terms.RetryOn) == 0 || slices.Contains(w.terms.RetryOn, *code)
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
func attempt(task client.Task) int { return number(task, "pinion.attempt") }

// number is that of an attribute; a first attempt does not have those of attempts, which are 0 then.
func number(task client.Task, attribute string) int {
	n, _ := strconv.Atoi(task.Attribute(attribute))
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
	if code := container(task).ExitCode; code != nil && !byPool(task) {
		return fmt.Sprintf("exit code %d", *code)
	}
	return reasons(task)
}
