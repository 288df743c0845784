// Package maintain is `pinion host maintain`: it takes a host out of the pool for work on its GPUs, such as an upgrade of the driver, and brings
// it back once they have passed.
package maintain

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// Command is the command `pinion host maintain`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "maintain",
		Usage:     "Free the GPUs of a host for an upgrade of the driver, and return it with --done",
		ArgsUsage: "HOST",
		Description: `The host gets no new tasks, and the command waits until no task has one of its GPUs. Tasks without GPUs run on. The tasks end by themselves, unless
--stop is given, as with 'pinion drain'. After --timeout the command fails, and the host goes on draining. Nothing but --done, or 'pinion activate', which checks nothing,
makes the host schedulable again.

With --done the host checks its machine, as 'pinion doctor' does, and each of its GPUs, as 'pinion gpus check' does. When all have passed, it gets tasks again;
otherwise the command says what has not, and the host stays as it is. GPUs in quarantine stay there, and are not checked.

Examples:
   pinion host maintain --timeout 8h gpu-2
   pinion host maintain --stop --deadline 30m gpu-2
   pinion host maintain --done gpu-2`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "done", Usage: "the work is done: check the host and return it"},
			&cli.BoolFlag{Name: "stop", Usage: "stop the running tasks, those without GPUs too"},
			&cli.DurationFlag{Name: "deadline", DefaultText: "now, with their stop timeouts", Usage: "`TIME` after which the stopped tasks have ended, such as 30m"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "as long as it takes", Usage: "`TIME` to wait, such as 8h"},
		},
		Action: func(c *cli.Context) error {
			switch {
			case c.Args().Len() != 1:
				return exit.Usagef("%s takes one host at a time; see %s --help", c.Command.HelpName, c.Command.HelpName)
			case c.Bool("done") && (c.Bool("stop") || c.IsSet("deadline") || c.IsSet("timeout")):
				return exit.Usagef("--done goes without --stop, --deadline and --timeout")
			case c.IsSet("deadline") && (!c.Bool("stop") || c.Duration("deadline") < 0):
				return exit.Usagef("--deadline takes a time from now, such as 30m, and goes with --stop")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			host, err := inv.FindHost(c.Context, c.Args().First())
			if err != nil {
				return err
			}
			if c.Bool("done") {
				return bringBack(c.Context, inv, host)
			}
			return free(c.Context, inv, host, drain{c.Bool("stop"), c.Duration("deadline"), c.Duration("timeout")})
		},
	}
}

// drain is how the tasks of a host end.
type drain struct {
	stop     bool
	deadline time.Duration // of the stopped tasks; zero: now, with their stop timeouts
	timeout  time.Duration // after which the command gives up; zero: never
}

// free drains a host and waits until no task has a GPU of it.
func free(ctx context.Context, inv *invocation.Invocation, host client.Host, how drain) error {
	var err error
	if how.stop {
		err = client.DrainHost(ctx, inv.Client, host.Cluster, host.ID, how.deadline)
	} else {
		err = inv.Client.SetHostStatus(ctx, host.Cluster, host.ID, client.Draining)
	}
	if err != nil {
		return err
	}
	err = inv.WaitUntilNone(ctx, how.timeout, func() (int, error) {
		tasks, err := gpuTasks(ctx, inv, host.ID)
		return len(tasks), err
	}, func(left int) { inv.Notef("%s: %s still with GPUs ...", host.Name, format.Plural(left, "task")) }, func(left int) error {
		return fmt.Errorf("host %s still has %s with GPUs after %s, and gets no new ones. `pinion gpus` lists them; `pinion activate %s` makes the host schedulable again",
			host.Name, format.Plural(left, "task"), how.timeout, host.Name)
	})
	if err == nil {
		_, err = fmt.Fprintf(inv.Out, "%s is ready: no task has a GPU of it, and it gets no new tasks. When the work is done: pinion host maintain --done %s\n", host.Name, host.Name)
	}
	return err
}

// gpuTasks are the ids of the tasks that have GPUs of a host, or shares of them.
func gpuTasks(ctx context.Context, inv *invocation.Invocation, hostID string) (tasks []string, err error) {
	err = inv.RetryUnavailable(ctx, func() error {
		gpus, err := inv.Client.GPUs(ctx)
		tasks = nil
		for i := range gpus {
			if gpus[i].HostID != hostID {
				continue
			}
			for _, holder := range gpus[i].Holders() {
				if holder.Task != "" && !slices.Contains(tasks, holder.Task) {
					tasks = append(tasks, holder.Task)
				}
			}
		}
		return err
	})
	return tasks, err
}
