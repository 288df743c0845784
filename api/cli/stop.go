package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func stopCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "stop",
		Usage:     "stop tasks",
		ArgsUsage: "[TASK...]",
		Description: `Sends SIGTERM to the containers, SIGKILL after their stop timeout, and waits until the tasks are gone and their GPUs are
free. TASK is an id, the beginning of one, or an ARN. Prints the ids of the stopped tasks.

Examples:
   pinion stop 3f2a91c0
   pinion stop --reason "wrong data set" 3f2a91c0 91bc04de
   pinion stop --no-wait 3f2a91c0
   pinion stop --group nightly      # all that are not over of an array, a gang, or whatever was started as one group`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Value: "stopped with pinion stop", Usage: "`TEXT` that is shown as the stopped reason"},
			&cli.BoolFlag{Name: "no-wait", Usage: "return as soon as the request is recorded"},
			groupFlag("stop all tasks of"),
			clusterFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := checkGroup(c); err != nil {
				return err
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			ids, err := s.taskIDsToStop(c)
			if err != nil {
				return err
			}
			return s.stopAndWait(c.Context, c.String("cluster"), ids, c.String("reason"), !c.Bool("no-wait"))
		},
	}
}

// taskIDsToStop are the ids of what a command line asks to stop.
func (s *session) taskIDsToStop(c *cli.Context) ([]string, error) {
	if group := c.String("group"); group != "" {
		return s.activeGroupTaskIDs(c.Context, c.String("cluster"), group)
	}
	return s.resolveTaskIDs(c.Context, c.String("cluster"), c.Args().Slice())
}

// waitingFirst is the order to stop tasks in: those that wait would get the places of the others.
func waitingFirst(tasks []client.Task) []client.Task {
	placed := func(t client.Task) int { return min(len(t.Instance), 1) }
	return slices.SortedStableFunc(slices.Values(tasks), func(a, b client.Task) int { return placed(a) - placed(b) })
}

func (s *session) stopAndWait(ctx context.Context, cluster string, ids []string, reason string, wait bool) error {
	for _, id := range ids {
		if err := s.client.StopTask(ctx, cluster, id, reason); err != nil {
			return fmt.Errorf("task %s: %w", abbreviateID(id), err)
		}
	}
	var stopped []client.Task
	for _, id := range ids {
		wanted := func(t client.Task) bool { return !wait || t.Stopped() }
		task, err := s.pollTask(ctx, cluster, id, wanted, s.statusPrinter())
		if err != nil {
			return err
		}
		stopped = append(stopped, task)
	}
	if s.output == outputJSON {
		return printJSON(s.out, stopped)
	}
	for _, task := range stopped {
		if _, err := fmt.Fprintln(s.out, task.ID()); err != nil {
			return err
		}
	}
	return nil
}

// statusPrinter notes each status of one task once, as long as it is on its way to STOPPED.
func (s *session) statusPrinter() func(client.Task) {
	printed := ""
	return func(task client.Task) {
		if task.Status == printed || task.Stopped() {
			return
		}
		printed = task.Status
		s.notef("%s is %s ...", abbreviateID(task.ID()), task.Status)
	}
}
