package cli

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/raftfsm/spec"
)

func logsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "show what a task wrote",
		ArgsUsage: "TASK",
		Description: `What the containers wrote to stdout goes to stdout, what they wrote to stderr to stderr. TASK is an id, the beginning of
one, or an ARN. A task with several containers has their names before the lines.

Examples:
   pinion logs 3f2a91c0
   pinion logs -f --tail 20 3f2a91c0
   pinion logs --since 10m --timestamps --container trainer 3f2a91c0`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on until the task is over"},
			&cli.IntFlag{Name: "tail", DefaultText: "all", Usage: "only the last `N` lines of what is there"},
			&cli.StringFlag{Name: "since", Usage: "only lines since this `TIME`: 10m ago, or 2006-01-02T15:04:05Z"},
			&cli.StringFlag{Name: "container", DefaultText: "all", Usage: "only the container of this `NAME`"},
			&cli.BoolFlag{Name: "timestamps", Aliases: []string{"t"}, Usage: "put the time before each line"},
			clusterFlag(),
		},
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			q, err := logQuery(c, s.now())
			if err != nil {
				return err
			}
			return s.printLog(c.Context, c.String("cluster"), q, c.Bool("timestamps"))
		},
	}
}

func logQuery(c *cli.Context, now time.Time) (spec.LogQuery, error) {
	q := spec.LogQuery{Task: c.Args().First(), Container: c.String("container"), Tail: c.Int("tail"), Follow: c.Bool("follow")}
	if c.NArg() > 1 {
		return q, usageErrorf("pinion logs shows one task at a time")
	}
	if q.Tail < 0 || c.IsSet("tail") && q.Tail == 0 {
		return q, usageErrorf("--tail %d: say how many lines, 1 or more", q.Tail)
	}
	var err error
	q.Since, err = parseSince(c.String("since"), now)
	return q, err
}

// parseSince reads how long ago ("10m"), or a moment in RFC 3339; empty is the beginning.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usageErrorf("--since %q is neither how long ago (90s, 10m, 2h) nor a moment such as 2006-01-02T15:04:05Z", text)
	}
	return moment, nil
}

func (s *session) printLog(ctx context.Context, cluster string, q spec.LogQuery, timestamps bool) error {
	ids, err := s.resolveTaskIDs(ctx, cluster, []string{q.Task})
	if err != nil {
		return err
	}
	tasks, err := s.describeTasks(ctx, cluster, ids)
	if err != nil {
		return err
	}
	q.Task = ids[0]
	printer := logPrinter{out: s.out, err: s.err, timestamps: timestamps, json: s.output == outputJSON,
		names: len(tasks[0].Containers) > 1 && q.Container == ""}
	err = s.followLog(ctx, q, printer.print)
	if errors.Is(err, context.Canceled) {
		return nil // Ctrl-C is how following ends
	}
	return err
}
