package selection

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// GroupFlag is the flag of commands that take a group instead of tasks.
func GroupFlag(does string) cli.Flag {
	return &cli.StringFlag{Name: "group", Usage: does + " the group `NAME` instead of a TASK, such as --group nightly"}
}

// CheckGroup checks that a command line names either tasks or a group.
func CheckGroup(c *cli.Context) error {
	if c.Args().Present() == (c.String("group") != "") {
		return exit.Usagef("%s needs a TASK or --group NAME, one of the two; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	return nil
}

// GroupTasks reads the tasks of a group, at least one, by array index and rank; tasks that stopped within the last hour
// are included.
func GroupTasks(ctx context.Context, inv *invocation.Invocation, cluster, group string) ([]client.Task, error) {
	ids, err := inv.Client.TaskIDs(ctx, cluster)
	if err != nil {
		return nil, err
	}
	tasks, _, err := inv.Client.DescribeTasks(ctx, cluster, ids) // a task that was removed in between is left out
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Group != group })
	if len(tasks) == 0 {
		return nil, fmt.Errorf("cluster %s has no task of the group %q; `pinion ps -a -o wide` shows the groups", cluster, group)
	}
	slices.SortStableFunc(tasks, format.CompareIndex)
	return tasks, nil
}

// ActiveOfGroup are the ids of the tasks of a group that have not stopped, at least one, in stop order.
func ActiveOfGroup(ctx context.Context, inv *invocation.Invocation, cluster, group string) ([]string, error) {
	tasks, err := GroupTasks(ctx, inv, cluster, group)
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() })
	if len(tasks) == 0 {
		return nil, fmt.Errorf("all tasks of the group %q in cluster %s have stopped already", group, cluster)
	}
	inv.Notef("stopping %s of the group %s ...", format.Plural(len(tasks), "task"), group)
	return client.TaskIDs(invocation.StopOrder(tasks)), nil
}
