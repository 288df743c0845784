package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

// groupFlag is the flag of commands that take a whole group instead of tasks.
func groupFlag(does string) cli.Flag {
	return &cli.StringFlag{Name: "group", Usage: does + " the group `NAME`, as 'pinion queue' shows it, instead of a TASK: --group nightly"}
}

// checkGroup makes sure that a command line names tasks or a group, and not both.
func checkGroup(c *cli.Context) error {
	if c.Args().Present() == (c.String("group") != "") {
		return usageErrorf("%s needs a TASK or --group NAME, one of the two; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	return nil
}

// groupTasks reads the tasks of a group, at least one; those that stopped within the last hour are among them. Their order is
// that of their numbers in an array or a gang.
func (s *session) groupTasks(ctx context.Context, cluster, group string) ([]client.Task, error) {
	ids, err := s.client.TaskIDs(ctx, cluster)
	if err != nil {
		return nil, err
	}
	tasks, _, err := s.client.DescribeTasks(ctx, cluster, ids) // a task reaped in between is simply no longer there
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Group != group })
	if len(tasks) == 0 {
		return nil, fmt.Errorf("cluster %s has no task of the group %q; `pinion ps -a -o wide` shows the groups", cluster, group)
	}
	slices.SortStableFunc(tasks, compareIndex)
	return tasks, nil
}

// activeGroupTaskIDs are the ids of a group's tasks that are not over, at least one, in the order to stop them.
func (s *session) activeGroupTaskIDs(ctx context.Context, cluster, group string) ([]string, error) {
	tasks, err := s.groupTasks(ctx, cluster, group)
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() })
	if len(tasks) == 0 {
		return nil, fmt.Errorf("all tasks of the group %q in cluster %s have stopped already", group, cluster)
	}
	s.notef("stopping %s of the group %s ...", plural(len(tasks), "task"), group)
	return taskIDsOf(waitingFirst(tasks)), nil
}

// firstPending is the task of a group that says most about why the group is where it is: the first that waits, or one that is
// not over.
func (s *session) firstPending(ctx context.Context, cluster, group string) (string, error) {
	tasks, err := s.groupTasks(ctx, cluster, group)
	if err != nil {
		return "", err
	}
	list, err := s.queuedTasks(ctx, cluster)
	if err != nil {
		return "", err
	}
	for _, q := range list {
		if q.Group == group {
			s.notef("group %s: %s; this is about the first that waits", group, statusCounts(tasks))
			return q.TaskID, nil
		}
	}
	s.notef("group %s: %s; none waits, this is about one of them", group, statusCounts(tasks))
	at := slices.IndexFunc(tasks, func(t client.Task) bool { return !t.Stopped() })
	return tasks[max(at, 0)].ID(), nil
}
