package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pinion/api/cli/client"
)

// maxListedTasks is how many of the tasks that were started are named.
const maxListedTasks = 8

// maxListedFailures is how many failed tasks are told of one by one.
const maxListedFailures = 10

// followBatch stays with several tasks until all are over, and turns their ends into an exit code: that of the first that
// failed by itself.
func (w *watch) followBatch(ctx context.Context, tasks []client.Task) error {
	w.notef("%s started: %s; `pinion logs TASK` shows what one of them writes", plural(len(tasks), "task"), idList(tasks))
	printed, idle := "", 0
	for {
		latest, err := w.latestAttempts(ctx, tasks)
		if err != nil {
			return err
		}
		if counts := statusCounts(latest); counts != printed {
			w.notef("%s", counts)
			printed, idle = counts, 0
		}
		stopped := !slices.ContainsFunc(latest, func(t client.Task) bool { return !t.Stopped() })
		if idle++; stopped && (idle > attemptPolls || !slices.ContainsFunc(latest, w.expectRetry)) {
			return w.printResult(latest, w.batchExitError(latest))
		}
		w.setTasks(latest)
		if err := w.sleep(ctx, pollMax); err != nil {
			return err
		}
	}
}

// latestAttempts describes the tasks as they are now, each by the last attempt at its work, in their order.
func (w *watch) latestAttempts(ctx context.Context, tasks []client.Task) (latest []client.Task, err error) {
	all := tasks
	if w.mayRetry() {
		all, err = w.attempts(ctx)
	} else {
		err = w.retryUnavailable(ctx, func() (err error) {
			all, err = w.describeTasks(ctx, w.cluster, taskIDsOf(tasks))
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

func taskIDsOf(tasks []client.Task) (ids []string) {
	for _, task := range tasks {
		ids = append(ids, task.ID())
	}
	return ids
}

// idList names tasks, the first of them when they are many.
func idList(tasks []client.Task) string {
	ids := make([]string, 0, maxListedTasks+1)
	for i, task := range tasks {
		if i == maxListedTasks {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, abbreviateID(task.ID()))
	}
	return strings.Join(ids, " ")
}

// statusCounts counts tasks by status: "3 RUNNING, 5 STOPPED".
func statusCounts(tasks []client.Task) string {
	counts := map[string]int{}
	for _, task := range tasks {
		counts[task.Status]++
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
	}
	return strings.Join(parts, ", ")
}

// batchExitError tells how the tasks ended that did not exit with 0.
func (w *watch) batchExitError(tasks []client.Task) error {
	var failed []client.Task
	for _, task := range tasks {
		if code := onlyContainer(task).ExitCode; code == nil || *code != 0 || stoppedByScheduler(task) {
			failed = append(failed, task)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	slices.SortStableFunc(failed, func(a, b client.Task) int { // those that the pool stopped because of another come last
		switch first, second := stoppedByScheduler(a), stoppedByScheduler(b); {
		case first == second:
			return 0
		case second:
			return -1
		}
		return 1
	})
	for _, task := range failed[:min(len(failed), maxListedFailures)] {
		w.notef("task %s: %s", abbreviateID(task.ID()), cmp.Or(stopReason(task), failureSummary(task)))
	}
	code := exitNoStart
	switch exit := onlyContainer(failed[0]).ExitCode; {
	case exit != nil && *exit == 0:
		code = exitFailure
	case exit != nil:
		code = *exit
	case failed[0].StopCode == "UserInitiated":
		code = exitInterrupt
	}
	return &exitError{code: code, error: fmt.Errorf("%d of %s failed", len(failed), plural(len(tasks), "task"))}
}
