package selection

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// CheckGroup checks that a command line names either tasks, or a group, or with --mine those of the caller.
func CheckGroup(c *cli.Context) error {
	if c.Bool("mine") {
		if c.Args().Present() || c.String("group") != "" {
			return exit.Usagef("%s --mine takes no TASK and no --group; see %s --help", c.Command.HelpName, c.Command.HelpName)
		}
		return nil
	}
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
	format.SortByIndex(tasks)
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

// Members completes what people type for tasks to full ids, as Resolve does, but a word that names a group, an array or a gang stands for
// all of its tasks, by index and rank.
func Members(ctx context.Context, inv *invocation.Invocation, cluster string, given []string) ([]string, error) {
	var ids []string
	for _, word := range given {
		tasks, err := Named(ctx, inv, cluster, word)
		if err != nil {
			return nil, err
		}
		found := client.TaskIDs(tasks)
		if len(tasks) < 2 {
			if found, err = Resolve(ctx, inv, cluster, []string{word}); err != nil {
				return nil, err
			}
		}
		for _, id := range found {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// Named are the tasks of the group that has the name, or else of the newest array or gang that was run with it; none when it is an id
// or the name of a task.
func Named(ctx context.Context, inv *invocation.Invocation, cluster, name string) ([]client.Task, error) {
	if fullID.MatchString(strings.ToLower(resourceID(name))) || parseName(name).index != "" {
		return nil, nil
	}
	known, err := inv.Client.TaskIDs(ctx, cluster)
	if err != nil {
		return nil, err
	}
	beginning := strings.ToLower(name)
	if digits.MatchString(beginning) && slices.ContainsFunc(known, func(id string) bool { return strings.HasPrefix(id, beginning) }) {
		return nil, nil
	}
	tasks, err := named(ctx, inv, cluster, name, known)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	newest := slices.MaxFunc(tasks, func(a, b client.Task) int { return a.CreatedAt.Compare(b.CreatedAt.Time) })
	if newest.Group != name {
		tasks = slices.DeleteFunc(tasks, func(t client.Task) bool {
			return format.Index(newest) == "" || format.Index(t) == "" || t.Definition != newest.Definition
		})
	}
	format.SortByIndex(tasks)
	return tasks, nil
}
