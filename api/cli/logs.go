package cli

import (
	"context"
	"errors"
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
		ArgsUsage: "TASK...",
		Description: `Standard output of the containers goes to standard output, their standard error to standard error. TASK is an id, its first
digits, an ARN, or a name: that of 'pinion run --name', a family or a group. Lines of a task with several containers begin with the
container's name, those of several tasks with the task's id.

Examples:
   pinion logs 3f2a91c0
   pinion logs train -f --tail 20
   pinion logs --since 10m --timestamps --container trainer 3f2a91c0`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow the log until the task has stopped"},
			&cli.IntFlag{Name: "tail", Aliases: []string{"n"}, DefaultText: "all", Usage: "only the last `N` lines, at most 10000"},
			&cli.StringFlag{Name: "since", Usage: "only lines since `TIME`: how long ago, such as 10m, or a time such as 2006-01-02T15:04:05Z"},
			&cli.StringFlag{Name: "container", DefaultText: "all", Usage: "only the container `NAME`"},
			&cli.BoolFlag{Name: "timestamps", Aliases: []string{"t"}, Usage: "show the time of each line"},
			invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			q, err := logQuery(c, inv.Now())
			if err != nil {
				return err
			}
			return printLogs(c.Context, inv, c.String("cluster"), c.Args().Slice(), q, c.Bool("timestamps"))
		},
	}
}

func logQuery(c *cli.Context, now time.Time) (client.LogQuery, error) {
	q := client.LogQuery{Container: c.String("container"), Tail: c.Int("tail"), Follow: c.Bool("follow")}
	if q.Tail < 0 || c.IsSet("tail") && q.Tail == 0 {
		return q, exit.Usagef("--tail %d: must be 1 or more", q.Tail)
	}
	if q.Tail > spec.MaxLogTail {
		return q, exit.Usagef("--tail %d: must be at most %d; for more, leave it out or read from a moment on with --since", q.Tail, spec.MaxLogTail)
	}
	var err error
	q.Since, err = invocation.ParseSince(c.String("since"), now)
	return q, err
}

// printLogs prints the logs of tasks: one after the other, or all as they are written when they are followed.
func printLogs(ctx context.Context, inv *invocation.Invocation, cluster string, given []string, q client.LogQuery, timestamps bool) error {
	ids, err := selection.Resolve(ctx, inv, cluster, given)
	if err != nil {
		return err
	}
	tasks, err := inv.DescribeTasks(ctx, cluster, ids)
	if err != nil {
		return err
	}
	var output sync.Mutex // one line at a time
	group, ctx := errgroup.WithContext(ctx)
	if !q.Follow {
		group.SetLimit(1)
	}
	for _, task := range tasks {
		q := q
		q.Task = task.ID()
		printer := tasklog.Printer{Out: inv.Out, Err: inv.Err, Timestamps: timestamps, JSON: inv.Output == invocation.JSON,
			Names: len(task.Containers) > 1 && q.Container == ""}
		if len(tasks) > 1 {
			printer.Task = format.ID(task.ID())
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
