package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pinion/api/cli/client"
)

// attemptPolls is how many looks, half a second apart, the next attempt at a task's work may take to be recorded.
const attemptPolls = 20

// mayRetry says whether there can be later attempts at the work of the tasks.
func (r *runner) mayRetry() bool { return r.scheduling.Retries > 0 || r.scheduling.Preemptible }

// awaitNextAttempt finds the task that does again what a failed one did, if there is to be one.
func (w *watch) awaitNextAttempt(ctx context.Context, failed client.Task) (next client.Task, found bool, err error) {
	if !w.expectRetry(failed) {
		return next, false, nil
	}
	for range attemptPolls {
		tasks, err := w.attempts(ctx)
		if err != nil {
			return next, false, err
		}
		if next, found = nextAttempt(failed, tasks); found {
			return next, true, nil
		}
		if err := w.sleep(ctx, 500*time.Millisecond); err != nil {
			return next, false, err
		}
	}
	return next, false, nil
}

// expectRetry says whether the pool will run a task again, as far as the flags tell.
func (w *watch) expectRetry(task client.Task) bool {
	code := onlyContainer(task).ExitCode
	switch {
	case task.StopCode == "UserInitiated":
		return false
	case task.StopCode == "SpotInterruption": // it gave way, whatever its exit code
		return w.scheduling.Preemptible
	case task.StopCode == "ServiceSchedulerInitiated" && !w.scheduling.Gang: // at its time limit; in a gang it may be another's failure
		return false
	case code != nil && *code == 0:
		return false
	case intAttribute(task, "pinion.failed") >= w.scheduling.Retries:
		return false
	}
	return code == nil || len(w.scheduling.RetryOn) == 0 || slices.Contains(w.scheduling.RetryOn, *code)
}

// attempts are all tasks that this command started, and those that run again what they did.
func (w *watch) attempts(ctx context.Context) (tasks []client.Task, err error) {
	err = w.retryUnavailable(ctx, func() error {
		ids, err := w.client.TaskIDsStartedBy(ctx, w.cluster, w.startedBy)
		if err == nil {
			tasks, _, err = w.client.DescribeTasks(ctx, w.cluster, ids)
		}
		return err
	})
	return tasks, err
}

// firstAttemptID is the first task that did what a task does.
func firstAttemptID(task client.Task) string {
	if first := task.Attribute("pinion.retry-of"); first != "" {
		return first
	}
	return task.ID()
}

// attemptNumber is how often a task's work was tried before.
func attemptNumber(task client.Task) int { return intAttribute(task, "pinion.attempt") }

// intAttribute is that of an attribute; a first attempt does not have those of attempts, which are 0 then.
func intAttribute(task client.Task, attribute string) int {
	n, _ := strconv.Atoi(task.Attribute(attribute))
	return n
}

func nextAttempt(of client.Task, among []client.Task) (client.Task, bool) {
	at := slices.IndexFunc(among, func(t client.Task) bool {
		return firstAttemptID(t) == firstAttemptID(of) && attemptNumber(t) > attemptNumber(of)
	})
	if at < 0 {
		return client.Task{}, false
	}
	return among[at], true
}

// failureSummary says how a task that did not succeed ended.
func failureSummary(task client.Task) string {
	if code := onlyContainer(task).ExitCode; code != nil && !stoppedByScheduler(task) {
		return fmt.Sprintf("exit code %d", *code)
	}
	return failureReason(task)
}
