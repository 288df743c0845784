// Package why is `pinion why`: why a task waits, or how it ended.
package why

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/client"
)

// Command is the command `pinion why`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "why",
		Usage:     "Explain why a task is pending, running or stopped",
		ArgsUsage: "[TASK...]",
		Description: `For a pending task: its position in the queue, why each host cannot run it, which tasks hold what it needs and until when, and
its earliest start, as far as time limits are known. For a task that failed: the container that failed first, how, the last lines of its
log, and what to do. Of a group, an array or a gang, the failures come first, equal ones once. TASK is an id, its first
digits, an ARN, or a name.

Examples:
   pinion why 3f2a91c0
   pinion why train
   pinion why --group nightly
   pinion why -o json 3f2a91c0`,
		Flags: []cli.Flag{selection.GroupFlag("explain"), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			if err := selection.CheckGroup(c); err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			cluster := c.String("cluster")
			if group := c.String("group"); group != "" {
				tasks, err := selection.GroupTasks(c.Context, inv, cluster, group)
				if err != nil {
					return err
				}
				return explainGroup(c.Context, inv, cluster, "Group "+group, tasks)
			}
			for i, word := range c.Args().Slice() {
				if i > 0 && inv.Output != invocation.JSON {
					fmt.Fprintln(inv.Out)
				}
				if err := explainWord(c.Context, inv, cluster, word); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// explainWord explains the task that a word names, or all tasks where it names a group, an array or a gang.
func explainWord(ctx context.Context, inv *invocation.Invocation, cluster, word string) error {
	tasks, err := selection.Named(ctx, inv, cluster, word)
	if err != nil {
		return err
	}
	if len(tasks) > 1 {
		return explainGroup(ctx, inv, cluster, fmt.Sprintf("%s (%s)", word, format.Plural(len(tasks), "task")), tasks)
	}
	ids, err := selection.Resolve(ctx, inv, cluster, []string{word})
	if err != nil {
		return err
	}
	return explain(ctx, inv, cluster, ids[0])
}

// explain explains the task with the id.
func explain(ctx context.Context, inv *invocation.Invocation, cluster, id string) error {
	if inv.Output == invocation.JSON {
		return inv.PrintDocument(ctx, client.ExplainPath(id))
	}
	e, err := inv.Client.Explain(ctx, id, false)
	if err != nil {
		return err
	}
	if e.Queue != nil {
		printWrapped(inv, fmt.Sprintf("Task %s is %s. %s", e.TaskID, e.Status, e.Summary))
		return printPending(ctx, inv, e)
	}
	if e.Status != "STOPPED" {
		printWrapped(inv, fmt.Sprintf("Task %s is %s. %s", e.TaskID, e.Status, e.Summary))
		return nil
	}
	tasks, err := inv.DescribeTasks(ctx, cluster, []string{id})
	if err != nil {
		return err
	}
	return explainEnd(ctx, inv, cluster, tasks[0], e)
}

// explainEnd explains how a task ended.
func explainEnd(ctx context.Context, inv *invocation.Invocation, cluster string, task client.Task, e client.Explanation) error {
	end := endOf(task)
	if end.outOfMemory {
		limit, err := client.ContainerMemory(ctx, inv.Client, task, end.container)
		if err != nil {
			inv.Notef("the memory limit of the container is not known: %v", err)
		}
		end.addLimit(limit)
	}
	text := fmt.Sprintf("Task %s (%s) %s.", e.TaskID, client.ResourceID(task.Definition), end)
	if e.RetryOf != "" {
		text += fmt.Sprintf(" It was another attempt at the work of task %s.", format.ID(e.RetryOf))
	}
	if e.RetryAs != "" {
		text += fmt.Sprintf(" Task %s does its work again.", format.ID(e.RetryAs))
	}
	printWrapped(inv, text+memoryUse(task)+gpuUse(task))
	if end.advice != "" {
		printWrapped(inv, end.advice)
	}
	if !end.failed || end.container == "" {
		return nil
	}
	return printLogEnd(ctx, inv, task, end.container)
}

// logLines is how many lines of a log are shown.
const logLines = 10

// printLogEnd prints the last lines of a container. A log that cannot be read is said so beside the answer.
func printLogEnd(ctx context.Context, inv *invocation.Invocation, task client.Task, container string) error {
	var lines []string
	err := inv.Client.Logs(ctx, client.LogQuery{Task: task.ID(), Container: container, Tail: logLines}, func(l client.LogLine) error {
		lines = append(lines, l.Text)
		return nil
	})
	switch {
	case err != nil:
		inv.Notef("the log of container %s cannot be read: %v", container, err)
		return nil
	case len(lines) == 0:
		fmt.Fprintf(inv.Out, "\nContainer %s wrote nothing.\n", container)
		return nil
	}
	fmt.Fprintf(inv.Out, "\nLast lines of container %s (pinion logs %s):\n", container, format.ID(task.ID()))
	for _, line := range lines {
		fmt.Fprintln(inv.Out, "  ", format.Plain(line))
	}
	return nil
}

// printWrapped prints a paragraph as wide as the terminal.
func printWrapped(inv *invocation.Invocation, text string) {
	for _, line := range format.Wrap(inv.LocalTimes(format.Options(text)), inv.TableWidth()) {
		fmt.Fprintln(inv.Out, line)
	}
}
