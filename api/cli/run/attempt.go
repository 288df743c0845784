package run

import (
	"context"
	"fmt"
	"slices"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// attemptPolls is the number of polls after which a failed task counts as not retried.
const attemptPolls = 20

// awaitNextAttempt waits for the retry of a failed task, if one is to be expected.
func (f *follower) awaitNextAttempt(ctx context.Context, failed client.Task) (next client.Task, found bool, err error) {
	if !f.expectRetry(failed) {
		return next, false, nil
	}
	for range attemptPolls {
		tasks, err := f.attempts(ctx)
		if err != nil {
			return next, false, err
		}
		if next, found = nextAttempt(failed, tasks); found {
			return next, true, nil
		}
		if err := f.inv.Sleep(ctx, invocation.PollMax); err != nil {
			return next, false, err
		}
	}
	return next, false, nil
}

// expectRetry reports whether the pool will retry a task, as far as the options of the run say.
func (f *follower) expectRetry(task client.Task) bool {
	code := onlyContainer(task).ExitCode
	switch {
	case task.StopCode == "UserInitiated":
		return false
	case task.StopCode == "SpotInterruption": // preempted, whatever its exit code
		return f.request.scheduling.Preemptible
	case task.StopCode == "ServiceSchedulerInitiated" && !f.request.scheduling.Gang: // at its time limit; in a gang it may be the failure of another task
		return false
	case code != nil && *code == 0:
		return false
	case task.IntAttribute("pinion.failed") >= f.request.scheduling.Retries:
		return false
	}
	return code == nil || len(f.request.scheduling.RetryOn) == 0 || slices.Contains(f.request.scheduling.RetryOn, *code)
}

// attempts lists all tasks of this run and their retries.
func (f *follower) attempts(ctx context.Context) (tasks []client.Task, err error) {
	err = f.inv.RetryUnavailable(ctx, func() error {
		ids, err := f.inv.Client.TaskIDsStartedBy(ctx, f.request.cluster, f.request.startedBy)
		if err == nil {
			tasks, _, err = f.inv.Client.DescribeTasks(ctx, f.request.cluster, ids)
		}
		return err
	})
	return tasks, err
}

// firstAttemptID is the id of the first attempt at the work of a task.
func firstAttemptID(task client.Task) string {
	if first := task.Attribute("pinion.retry-of"); first != "" {
		return first
	}
	return task.ID()
}

// attemptNumber is the number of attempts before this task.
func attemptNumber(task client.Task) int { return task.IntAttribute("pinion.attempt") }

// nextAttempt finds a later attempt at the work of a task.
func nextAttempt(of client.Task, among []client.Task) (client.Task, bool) {
	at := slices.IndexFunc(among, func(t client.Task) bool {
		return firstAttemptID(t) == firstAttemptID(of) && attemptNumber(t) > attemptNumber(of)
	})
	if at < 0 {
		return client.Task{}, false
	}
	return among[at], true
}

// failureSummary is the exit code or the reason of a task that did not succeed.
func failureSummary(task client.Task) string {
	if code := onlyContainer(task).ExitCode; code != nil && !stoppedByScheduler(task) {
		return fmt.Sprintf("exit code %d", *code)
	}
	return failureReason(task)
}
