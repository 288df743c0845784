package run

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// maxListedTasks is the number of started tasks that are named.
const maxListedTasks = 8

// maxListedFailures is the number of failed tasks that are reported one by one.
const maxListedFailures = 10

// followBatch follows several tasks until all have stopped. The exit code is that of the first one that failed by itself.
func (f *follower) followBatch(ctx context.Context, tasks []client.Task) error {
	f.inv.Notef("%s: %s; `pinion logs TASK` shows the output of one", format.Plural(len(tasks), "task"), idList(tasks))
	printed, idle := "", 0
	for {
		latest, err := f.latestAttempts(ctx, tasks)
		if err != nil {
			return err
		}
		if counts := format.StatusCounts(latest); counts != printed {
			f.inv.Notef("%s", counts)
			printed, idle = counts, 0
		}
		if idle == pendingReads && !f.unschedulable {
			f.notePending(ctx, latest)
		}
		stopped := !slices.ContainsFunc(latest, func(t client.Task) bool { return !t.Stopped() })
		if idle++; stopped && (idle > attemptPolls || !slices.ContainsFunc(latest, f.expectRetry)) {
			return f.printResult(latest, f.batchExitError(latest))
		}
		f.interrupts.setTasks(latest)
		if err := f.inv.Sleep(ctx, invocation.PollMax); err != nil {
			return err
		}
	}
}

// latestAttempts reads the last attempt of each task, in the order of the tasks.
func (f *follower) latestAttempts(ctx context.Context, tasks []client.Task) (latest []client.Task, err error) {
	all := tasks
	if f.request.mayRetry() {
		all, err = f.attempts(ctx)
	} else {
		err = f.inv.RetryUnavailable(ctx, func() (err error) {
			all, err = f.inv.DescribeTasks(ctx, f.request.cluster, client.TaskIDs(tasks))
			return err
		})
	}
	for _, task := range tasks {
		for next, found := task, true; found; next, found = nextAttempt(task, all) {
			task = next
		}
		if at := slices.IndexFunc(all, func(t client.Task) bool { return t.ID() == task.ID() }); at >= 0 {
			task = all[at]
		}
		latest = append(latest, task)
	}
	return latest, err
}

// idList lists the ids of tasks, of many only the first ones.
func idList(tasks []client.Task) string {
	ids := make([]string, 0, maxListedTasks+1)
	for i, task := range tasks {
		if i == maxListedTasks {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, format.ID(task.ID()))
	}
	return strings.Join(ids, " ")
}

// batchExitError reports the tasks that did not exit with 0; nil when there are none.
func (f *follower) batchExitError(tasks []client.Task) error {
	var failed []client.Task
	for _, task := range tasks {
		if code := onlyContainer(task).ExitCode; code == nil || *code != 0 || stoppedByScheduler(task) {
			failed = append(failed, task)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	slices.SortStableFunc(failed, func(a, b client.Task) int { // tasks that the pool stopped because of another come last
		switch first, second := stoppedByScheduler(a), stoppedByScheduler(b); {
		case first == second:
			return 0
		case second:
			return -1
		}
		return 1
	})
	for _, task := range failed[:min(len(failed), maxListedFailures)] {
		f.inv.Notef("task %s: %s", format.ID(task.ID()), cmp.Or(format.StopReason(task), failureSummary(task)))
	}
	code := exit.NotStarted
	switch own := onlyContainer(failed[0]).ExitCode; {
	case own != nil && *own == 0:
		code = exit.Failure
	case own != nil:
		code = *own
	case failed[0].StopCode == "UserInitiated":
		code = exit.Interrupted
	}
	return exit.Errorf(code, "%d of %s failed", len(failed), format.Plural(len(tasks), "task"))
}
