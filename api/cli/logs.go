package cli

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/tasklog"
	"pinion/api/client"
	"pinion/raftfsm/spec"
)

func logsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "Show the logs of a task",
		ArgsUsage: "TASK",
		Description: `Standard output of the containers goes to standard output, their standard error to standard error. TASK is an id, its first
digits, or an ARN. Lines of a task with several containers begin with the container's name.

Examples:
   pinion logs 3f2a91c0
   pinion logs -f --tail 20 3f2a91c0
   pinion logs --since 10m --timestamps --container trainer 3f2a91c0`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow the log until the task has stopped"},
			&cli.IntFlag{Name: "tail", DefaultText: "all", Usage: "only the last `N` lines, at most 10000"},
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
			return printLog(c.Context, inv, c.String("cluster"), q, c.Bool("timestamps"))
		},
	}
}

func logQuery(c *cli.Context, now time.Time) (client.LogQuery, error) {
	q := client.LogQuery{Task: c.Args().First(), Container: c.String("container"), Tail: c.Int("tail"), Follow: c.Bool("follow")}
	if c.NArg() > 1 {
		return q, exit.Usagef("pinion logs shows one task at a time")
	}
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

func printLog(ctx context.Context, inv *invocation.Invocation, cluster string, q client.LogQuery, timestamps bool) error {
	ids, err := inv.ResolveTaskIDs(ctx, cluster, []string{q.Task})
	if err != nil {
		return err
	}
	tasks, err := inv.DescribeTasks(ctx, cluster, ids)
	if err != nil {
		return err
	}
	q.Task = ids[0]
	printer := tasklog.Printer{Out: inv.Out, Err: inv.Err, Timestamps: timestamps, JSON: inv.Output == invocation.JSON,
		Names: len(tasks[0].Containers) > 1 && q.Container == ""}
	err = tasklog.Follow(ctx, inv, q, printer.Print)
	if errors.Is(err, context.Canceled) {
		return nil // Ctrl-C is how following ends
	}
	return err
}
