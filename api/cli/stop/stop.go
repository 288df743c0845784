// Package stop has `pinion stop`.
package stop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/client"
)

// Command is `pinion stop`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "Stop tasks",
		ArgsUsage: "[TASK...]",
		Description: `Sends SIGTERM to the containers, SIGKILL after their stop timeout, and waits until the tasks have stopped and their GPUs are
free. TASK is an id, its first digits, an ARN, or a name: that of 'pinion run --name', a family or a group. Of a group, an array or a
gang it stops all tasks. Prints the ids of the stopped tasks, and says which of them somebody else had run. A key may stop tasks of other keys too, unless it is for other teams or clusters
('pinion key create --team').

Examples:
   pinion stop 3f2a91c0
   pinion stop --reason "wrong data set" 3f2a91c0 91bc04de
   pinion stop --no-wait 3f2a91c0
   pinion stop --force 3f2a91c0     # SIGKILL at once, also for a task that is stopping already
   pinion stop --group nightly      # all tasks of an array, a gang or another group
   pinion stop --mine --dry-run     # only show which: all tasks that you have run, but for those of services
   pinion ps -q --filter team=vision | xargs pinion stop`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Value: "stopped with pinion stop", Usage: "stopped reason, `TEXT`"},
			&cli.BoolFlag{Name: "no-wait", Usage: "return as soon as the request is recorded"},
			&cli.BoolFlag{Name: "force", Usage: "kill the containers at once, without their stop timeouts"},
			selection.GroupFlag("stop all tasks of"), invocation.OwnTasksFlag("stop"),
			invocation.DryRunFlag("stopped"), invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := selection.CheckGroup(c); err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			ids, err := taskIDsToStop(inv, c)
			if err != nil {
				return err
			}
			if c.Bool(invocation.DryRun) {
				return printWouldStop(c.Context, inv, c.String("cluster"), ids)
			}
			for _, id := range ids {
				if err := inv.Client.StopTask(c.Context, c.String("cluster"), id, c.String("reason"), c.Bool("force")); err != nil {
					return fmt.Errorf("task %s: %w", format.ID(id), err)
				}
			}
			return printStopped(c.Context, inv, c.String("cluster"), ids, !c.Bool("no-wait"), c.Bool("force"))
		},
	}
}

// taskIDsToStop are the tasks that a command line names.
func taskIDsToStop(inv *invocation.Invocation, c *cli.Context) ([]string, error) {
	if c.Bool("mine") {
		return selection.ActiveOwnTasks(c.Context, c, inv)
	}
	if group := c.String("group"); group != "" {
		return selection.ActiveOfGroup(c.Context, inv, c.String("cluster"), group)
	}
	ids, err := selection.Members(c.Context, inv, c.String("cluster"), c.Args().Slice())
	if err != nil || len(ids) <= c.NArg() {
		return ids, err
	}
	tasks, err := inv.DescribeTasks(c.Context, c.String("cluster"), ids)
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() }) // of a group, what is over needs no stop
	if len(tasks) == 0 {
		return nil, fmt.Errorf("all tasks of %s have stopped already", strings.Join(c.Args().Slice(), " "))
	}
	inv.Notef("stopping %s ...", format.Plural(len(tasks), "task"))
	return client.TaskIDs(invocation.StopOrder(tasks)), nil
}

// printStopped prints the ids of the tasks, as soon as they have stopped if it waits.
func printStopped(ctx context.Context, inv *invocation.Invocation, cluster string, ids []string, wait, force bool) error {
	var stopped []client.Task
	seen := func(client.Task) {}
	for _, id := range ids {
		if wait {
			seen = statusPrinter(inv, force)
		}
		watch := inv.WatchTask(cluster, id)
		task, err := watch.Until(ctx, func(t client.Task) bool { return !wait || t.Stopped() }, seen)
		watch.Close()
		if err != nil {
			return err
		}
		stopped = append(stopped, task)
	}
	return printTasks(ctx, inv, stopped)
}

// printWouldStop prints what printStopped would, of the tasks that are not over yet.
func printWouldStop(ctx context.Context, inv *invocation.Invocation, cluster string, ids []string) error {
	tasks, err := inv.DescribeTasks(ctx, cluster, ids)
	if err != nil {
		return err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() })
	inv.Notef("%s would be stopped; nothing was changed", format.Plural(len(tasks), "task"))
	return printTasks(ctx, inv, tasks)
}

func printTasks(ctx context.Context, inv *invocation.Invocation, tasks []client.Task) error {
	noteOwners(ctx, inv, tasks)
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(tasks)
	}
	for _, task := range tasks {
		if _, err := fmt.Fprintln(inv.Out, task.ID()); err != nil {
			return err
		}
	}
	return nil
}

// statusPrinter notes each new status of a task until it is STOPPED; force: it is killed at once.
func statusPrinter(inv *invocation.Invocation, force bool) func(client.Task) {
	printed := ""
	return func(task client.Task) {
		if task.Status == printed || task.Stopped() {
			return
		}
		printed = task.Status
		hint := ""
		if task.Status == "STOPPING" && !force {
			hint = "; `pinion stop --force` does not wait for its stop timeout"
		}
		inv.Notef("%s is %s ...%s", format.ID(task.ID()), task.Status, hint)
	}
}
