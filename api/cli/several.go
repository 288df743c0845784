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

// shownTasks is how many of the tasks that were started are named.
const shownTasks = 8

// shownFailures is how many failed tasks are told of one by one.
const shownFailures = 10

// followAll stays with several tasks until all are over, and turns their ends into an exit code: that of the first that
// failed by itself.
func (w *watch) followAll(ctx context.Context, tasks []client.Task) error {
	w.note("%s started: %s; `pinion logs TASK` shows what one of them writes", plural(len(tasks), "task"), listed(tasks))
	told, idle := "", 0
	for {
		latest, err := w.look(ctx, tasks)
		if err != nil {
			return err
		}
		if tally := tallyOf(latest); tally != told {
			w.note("%s", tally)
			told, idle = tally, 0
		}
		over := !slices.ContainsFunc(latest, func(t client.Task) bool { return !t.Stopped() })
		if idle++; over && (idle > attemptPatience || !slices.ContainsFunc(latest, w.mayRunAgain)) {
			return w.answer(latest, w.concludeAll(latest))
		}
		w.started(latest)
		if err := w.pause(ctx, lastLook); err != nil {
			return err
		}
	}
}

// look describes the tasks as they are now, each by the last attempt at its work, in their order.
func (w *watch) look(ctx context.Context, tasks []client.Task) (latest []client.Task, err error) {
	all := tasks
	if w.runsAgain() {
		all, err = w.attempts(ctx)
	} else {
		err = w.patiently(ctx, func() (err error) {
			all, err = w.describe(ctx, w.cluster, taskIDs(tasks))
			return err
		})
	}
	for _, task := range tasks {
		for next, again := task, true; again; next, again = successor(task, all) {
			task = next
		}
		if at := slices.IndexFunc(all, func(t client.Task) bool { return t.ID() == task.ID() }); at >= 0 {
			task = all[at]
		}
		latest = append(latest, task)
	}
	return latest, err
}

func taskIDs(tasks []client.Task) (ids []string) {
	for _, task := range tasks {
		ids = append(ids, task.ID())
	}
	return ids
}

// listed names tasks, the first of them when they are many.
func listed(tasks []client.Task) string {
	ids := make([]string, 0, shownTasks+1)
	for i, task := range tasks {
		if i == shownTasks {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, short(task.ID()))
	}
	return strings.Join(ids, " ")
}

// tallyOf counts tasks by status: "3 RUNNING, 5 STOPPED".
func tallyOf(tasks []client.Task) string {
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

// concludeAll tells how the tasks ended that did not exit with 0.
func (w *watch) concludeAll(tasks []client.Task) error {
	var failed []client.Task
	for _, task := range tasks {
		if code := container(task).ExitCode; code == nil || *code != 0 || byPool(task) {
			failed = append(failed, task)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	slices.SortStableFunc(failed, func(a, b client.Task) int { // those that the pool stopped because of another come last
		switch first, second := byPool(a), byPool(b); {
		case first == second:
			return 0
		case second:
			return -1
		}
		return 1
	})
	for _, task := range failed[:min(len(failed), shownFailures)] {
		w.note("task %s: %s", short(task.ID()), cmp.Or(trouble(task), failureOf(task)))
	}
	code := exitNoStart
	switch exit := container(failed[0]).ExitCode; {
	case exit != nil && *exit == 0:
		code = exitFailure
	case exit != nil:
		code = *exit
	case failed[0].StopCode == "UserInitiated":
		code = exitInterrupt
	}
	return &exitError{code: code, error: fmt.Errorf("%d of %s failed", len(failed), plural(len(tasks), "task"))}
}
