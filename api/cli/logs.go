package cli

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/cli/tasklog"
	"pinion/api/client"
	"pinion/raftfsm/spec"
)

func logsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "Show the logs of tasks",
		ArgsUsage: "[TASK...]",
		Description: `Standard output of the containers goes to standard output, their standard error to standard error. TASK is an id, its first
digits, an ARN, or a name: that of 'pinion run --name', a family or a group. Of a group, an array or a gang it shows all tasks. Lines of a
task with several containers begin with the container's name, those of several tasks with the task: its name with its index or rank, or its id.

Examples:
   pinion logs 3f2a91c0
   pinion logs train -f --tail 20
   pinion logs --group nightly
   pinion logs --since 10m --timestamps --container trainer 3f2a91c0
   pinion logs --path 3f2a91c0            # HOST:FILE of each container`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow the log until the task has stopped"},
			&cli.StringFlag{Name: "tail", Aliases: []string{"n"}, DefaultText: "all", Usage: "only the last `N` lines, at most 10000; with 0 and -f only those to come"},
			&cli.StringFlag{Name: "since", Usage: "only lines since `TIME`: an age such as 10m or 1d, a time such as 14:40, or a date, 2006-01-02T15:04:05Z"},
			&cli.StringFlag{Name: "container", DefaultText: "all", Usage: "only the container `NAME`"},
			&cli.BoolFlag{Name: "path", Usage: "show the host and the file that have the log, instead of its lines"},
			&cli.BoolFlag{Name: "timestamps", Aliases: []string{"t"}, Usage: "show the time of each line"},
			selection.GroupFlag("show all tasks of"),
			invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := selection.CheckGroup(c); err != nil {
				return err
			}
			return showLogs(p, c, tasksToShow)
		},
	}
}

// showLogs shows the logs of the tasks that find finds, as the flags of `pinion logs` say.
func showLogs(p Program, c *cli.Context, find func(*invocation.Invocation, *cli.Context) ([]client.Task, error)) error {
	inv, err := p.system.Invoke(c)
	if err != nil {
		return err
	}
	q, err := logQuery(c, inv.Now())
	if err != nil {
		return err
	}
	tasks, err := find(inv, c)
	if err != nil {
		return err
	}
	if c.Bool("path") {
		return printLogPaths(c.Context, c, inv, tasks)
	}
	return printLogs(c.Context, inv, tasks, q, c.Bool("timestamps"))
}

func logQuery(c *cli.Context, now time.Time) (client.LogQuery, error) {
	q := client.LogQuery{Container: c.String("container"), Follow: c.Bool("follow")}
	var err error
	if q.Since, err = invocation.ParseSince(c.String("since"), now); err != nil {
		return q, err
	}
	text := c.String("tail")
	if text == "" && !c.IsSet("tail") || text == "all" {
		return q, nil
	}
	q.Tail, err = strconv.Atoi(text)
	switch {
	case err != nil || q.Tail < 0:
		return q, exit.Usagef("--tail %s: it is a number of lines, 0 or more, or all", text)
	case q.Tail > spec.MaxLogTail:
		return q, exit.Usagef("--tail %d: must be at most %d; for more, leave it out or read from a moment on with --since", q.Tail, spec.MaxLogTail)
	case q.Tail == 0:
		q.Since = now // none of those before
	}
	return q, nil
}

// tasksToShow are the tasks that a command line names.
func tasksToShow(inv *invocation.Invocation, c *cli.Context) ([]client.Task, error) {
	if group := c.String("group"); group != "" {
		return selection.GroupTasks(c.Context, inv, c.String("cluster"), group)
	}
	ids, err := selection.Members(c.Context, inv, c.String("cluster"), c.Args().Slice())
	if err != nil {
		return nil, err
	}
	return inv.DescribeTasks(c.Context, c.String("cluster"), ids)
}

// taskLabels are what lines of several tasks begin with: "run-train:1[2]" where that is one task's alone, else an id.
func taskLabels(tasks []client.Task) []string {
	count := map[string]int{}
	for _, task := range tasks {
		count[format.TaskName(task)]++
	}
	labels := make([]string, len(tasks))
	for i, task := range tasks {
		labels[i] = format.ID(task.ID())
		if name := format.TaskName(task); format.Index(task) != "" && count[name] == 1 {
			labels[i] = name
		}
	}
	return labels
}

// printLogs prints the logs of tasks: one after the other, or all as they are written when they are followed.
func printLogs(ctx context.Context, inv *invocation.Invocation, tasks []client.Task, q client.LogQuery, timestamps bool) error {
	labels := taskLabels(tasks)
	var output sync.Mutex // one line at a time
	group, ctx := errgroup.WithContext(ctx)
	if !q.Follow {
		group.SetLimit(1)
	}
	for i, task := range tasks {
		q := q
		q.Task = task.ID()
		printer := tasklog.Printer{Out: inv.Out, Err: inv.Err, Timestamps: timestamps, JSON: inv.Output == invocation.JSON,
			Names: len(task.Containers) > 1 && q.Container == ""}
		if len(tasks) > 1 {
			printer.Task = labels[i]
		}
		group.Go(func() error {
			empty := true
			err := tasklog.Follow(ctx, inv, q, func(line client.LogLine) error {
				empty = false
				output.Lock()
				defer output.Unlock()
				return printer.Print(line)
			})
			output.Lock()
			err = errors.Join(err, printer.Flush())
			output.Unlock()
			if err == nil && empty && task.StartedAt.IsZero() && format.StopReason(task) != "" {
				inv.Notef("task %s has no output: %s", format.ID(task.ID()), format.StopReason(task))
			}
			return err
		})
	}
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // Ctrl-C is how following ends
}
