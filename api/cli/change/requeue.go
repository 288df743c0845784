package change

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/client"
)

func requeue(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "requeue",
		Usage:     "Stop running tasks and put their work back into the queue",
		ArgsUsage: "[TASK...]",
		Description: `The containers get SIGTERM, and SIGKILL after their stop timeout. Then another task does the work again, with the same priority; it
counts as no failed attempt. Prints the ids of the tasks that it stops, waits until they have stopped, and names the tasks that do their
work again. With --no-wait or -o json it does not wait, and 'pinion why' names them later. Of a gang, all tasks are requeued.

Examples:
   pinion task requeue 3f2a91c0
   pinion task requeue --reason "new driver" --group nightly`,
		Flags: []cli.Flag{
			reasonFlag("part of the stopped reason"),
			&cli.BoolFlag{Name: "no-wait", Usage: "return as soon as the request is recorded"},
			selection.GroupFlag("requeue all running tasks of"), invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			return apply(c, system, client.RequeueTasks, c.Args().Slice(), reason(c))
		},
	}
}

// nextAttemptReads is how often a stopped task is looked at for the task that does its work again: the queue adds it within a moment.
const nextAttemptReads = 20

// noteNextAttempts waits until the requeued tasks have stopped, and tells which tasks do their work again.
func noteNextAttempts(c *cli.Context, inv *invocation.Invocation, ids []string) error {
	for _, id := range ids {
		if c.Bool("no-wait") {
			inv.Notef("when it has stopped, another task does the work of %s again: `pinion why %s` names it", format.ID(id), format.ID(id))
			continue
		}
		next, err := nextAttempt(c.Context, inv, c.String("cluster"), id)
		if err != nil {
			return err
		}
		inv.Notef("%s", next)
	}
	return nil
}

// nextAttempt waits until a requeued task has stopped, and says what does its work again.
func nextAttempt(ctx context.Context, inv *invocation.Invocation, cluster, id string) (says string, err error) {
	watch := inv.WatchTask(cluster, id)
	defer watch.Close()
	task, err := watch.Until(ctx, func(t client.Task) bool { return t.Stopped() }, func(client.Task) {})
	if err != nil {
		return "", err
	}
	if service := task.Service(); service != "" {
		return fmt.Sprintf("task %s has stopped; the service %s starts another one", format.ID(id), service), nil
	}
	for range nextAttemptReads {
		var e client.Explanation
		if err := inv.RetryUnavailable(ctx, func() (err error) { e, err = inv.Client.Explain(ctx, id, true); return err }); err != nil {
			return "", err
		}
		if e.RetryAs != "" {
			return fmt.Sprintf("task %s does the work of %s again", e.RetryAs, format.ID(id)), nil
		}
		if err := inv.Sleep(ctx, invocation.PollMax); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("task %s has stopped, and no task does its work again yet: `pinion why %s` names it", format.ID(id), format.ID(id)), nil
}
