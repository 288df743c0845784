package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// explainGroup explains where the tasks of a group, an array or a gang are: first how members failed, equal ends once, then what the pending
// ones wait for, equal reasons once, and that of the first one whole.
func explainGroup(ctx context.Context, inv *invocation.Invocation, cluster, name string, tasks []client.Task) error {
	waiting, err := waitingOf(ctx, inv, cluster, tasks)
	if err != nil {
		return err
	}
	pending := ""
	if len(waiting) > 0 {
		pending = waiting[0].tasks[0].ID()
	}
	failures := failuresOf(tasks)
	if inv.Output == invocation.JSON {
		return inv.PrintDocument(ctx, client.ExplainPath(mostTelling(tasks, failures, pending)))
	}
	printWrapped(inv, fmt.Sprintf("%s: %s.", name, format.Outcomes(tasks)))
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
		for _, w := range waiting {
			if len(w.tasks) > 1 || len(waiting) > 1 {
				printWrapped(inv, fmt.Sprintf("%s for %s: %s.", format.Plural(len(w.tasks), "task")+map[bool]string{true: " waits", false: " wait"}[len(w.tasks) == 1], w.text, format.List(labels(w.tasks))))
			}
		}
		return explain(ctx, inv, cluster, pending)
	case len(failures) == 0:
		fmt.Fprintln(inv.Out)
		return explain(ctx, inv, cluster, mostTelling(tasks, failures, pending))
	}
	return nil
}

// membersByText are members of a group with the same text: how they failed, or what they wait for.
type membersByText struct {
	text  string
	tasks []client.Task
}

// failuresOf groups the failed tasks by how they failed, the largest group first.
func failuresOf(tasks []client.Task) (failures []membersByText) {
	for _, task := range tasks {
		end := endOf(task)
		if !task.Stopped() || !end.failed {
			continue
		}
		at := slices.IndexFunc(failures, func(f membersByText) bool { return f.text == end.String() })
		if at < 0 {
			at = len(failures)
			failures = append(failures, membersByText{text: end.String()})
		}
		failures[at].tasks = append(failures[at].tasks, task)
	}
	slices.SortStableFunc(failures, func(a, b membersByText) int { return len(b.tasks) - len(a.tasks) })
	return failures
}

// mostTelling is the id of the task that says most about its group.
func mostTelling(tasks []client.Task, failures []membersByText, pending string) string {
	if len(failures) > 0 {
		return failures[0].tasks[0].ID()
	}
	if pending != "" {
		return pending
	}
	at := slices.IndexFunc(tasks, func(t client.Task) bool { return !t.Stopped() })
	return tasks[max(at, 0)].ID()
}

// waitingOf groups the pending tasks by what they wait for, in the order of the queue.
func waitingOf(ctx context.Context, inv *invocation.Invocation, cluster string, tasks []client.Task) (waiting []membersByText, err error) {
	list, err := inv.Client.Queue(ctx, cluster)
	if err != nil {
		return nil, err
	}
	byID := map[string]client.Task{}
	for _, task := range tasks {
		byID[task.ID()] = task
	}
	for _, item := range list {
		task, member := byID[item.TaskID]
		if !member {
			continue
		}
		at := slices.IndexFunc(waiting, func(w membersByText) bool { return w.text == item.WaitReason })
		if at < 0 {
			at = len(waiting)
			waiting = append(waiting, membersByText{text: item.WaitReason})
		}
		waiting[at].tasks = append(waiting[at].tasks, task)
	}
	return waiting, nil
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
