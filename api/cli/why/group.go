package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/client"
)

// explainGroup explains where a group is: first how members failed, equal ends once, then what the first pending one waits for.
func explainGroup(ctx context.Context, inv *invocation.Invocation, cluster, group string) error {
	tasks, err := selection.GroupTasks(ctx, inv, cluster, group)
	if err != nil {
		return err
	}
	pending, err := firstPending(ctx, inv, cluster, group)
	if err != nil {
		return err
	}
	failures := failuresOf(tasks)
	if inv.Output == invocation.JSON {
		return inv.PrintDocument(ctx, client.ExplainPath(mostTelling(tasks, failures, pending)))
	}
	printWrapped(inv, fmt.Sprintf("Group %s: %s.", group, format.Outcomes(tasks)))
	for _, f := range failures {
		fmt.Fprintln(inv.Out)
		if len(f.tasks) > 1 {
			printWrapped(inv, fmt.Sprintf("%s ended alike: %s. This is the first of them:", format.Plural(len(f.tasks), "task"), format.List(labels(f.tasks))))
		}
		if err := explain(ctx, inv, cluster, f.tasks[0].ID()); err != nil {
			return err
		}
	}
	switch {
	case pending != "":
		fmt.Fprintln(inv.Out)
		return explain(ctx, inv, cluster, pending)
	case len(failures) == 0:
		fmt.Fprintln(inv.Out)
		return explain(ctx, inv, cluster, mostTelling(tasks, failures, pending))
	}
	return nil
}

// failure is the members of a group that failed alike.
type failure struct {
	text  string
	tasks []client.Task
}

// failuresOf groups the failed tasks by how they failed, the largest group first. What the pool stopped because others failed comes last.
func failuresOf(tasks []client.Task) (failures []failure) {
	for _, task := range tasks {
		end := endOf(task)
		if !task.Stopped() || !end.failed {
			continue
		}
		at := slices.IndexFunc(failures, func(f failure) bool { return f.text == end.String() })
		if at < 0 {
			at = len(failures)
			failures = append(failures, failure{text: end.String()})
		}
		failures[at].tasks = append(failures[at].tasks, task)
	}
	byPool := func(f failure) int {
		if f.tasks[0].StopCode == "ServiceSchedulerInitiated" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(failures, func(a, b failure) int {
		if order := byPool(a) - byPool(b); order != 0 {
			return order
		}
		return len(b.tasks) - len(a.tasks)
	})
	return failures
}

// mostTelling is the id of the task that says most about its group.
func mostTelling(tasks []client.Task, failures []failure, pending string) string {
	if len(failures) > 0 {
		return failures[0].tasks[0].ID()
	}
	if pending != "" {
		return pending
	}
	at := slices.IndexFunc(tasks, func(t client.Task) bool { return !t.Stopped() })
	return tasks[max(at, 0)].ID()
}

// firstPending is the id of the first task of a group in the queue; empty when none waits.
func firstPending(ctx context.Context, inv *invocation.Invocation, cluster, group string) (string, error) {
	list, err := inv.Client.Queue(ctx, cluster)
	if err != nil {
		return "", err
	}
	if at := slices.IndexFunc(list, func(q client.QueueItem) bool { return q.Group == group }); at >= 0 {
		return list[at].TaskID, nil
	}
	return "", nil
}

// labels name tasks by their index or rank, those without by their ids.
func labels(tasks []client.Task) []string {
	texts := make([]string, len(tasks))
	for i, task := range tasks {
		texts[i] = format.ID(task.ID())
		texts[i] = cmp.Or(format.Index(task), texts[i])
	}
	return texts
}
