package cli

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

func drainCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "drain",
		Usage:     "Drain a host: no new tasks, and wait until its tasks have ended",
		ArgsUsage: "HOST",
		Description: `Running tasks end by themselves, unless --stop is given: then they are stopped now, or with --deadline so that they have ended
by then. Those that are preemptible or have retries left are queued again. HOST is a name, an id, or the first digits of an id. After --timeout the command fails,
and the host goes on draining; so it does when the command is interrupted.

Examples:
   pinion drain gpu-2
   pinion drain --timeout 2h gpu-2 && ssh gpu-2 reboot
   pinion drain --stop --deadline 30m gpu-2
   pinion activate gpu-2`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "stop", Usage: "stop the running tasks"},
			&cli.DurationFlag{Name: "deadline", DefaultText: "now, with their stop timeouts", Usage: "`TIME` after which the stopped tasks have ended, such as 30m"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "as long as it takes", Usage: "`TIME` to wait, such as 10m"},
		},
		Action: func(c *cli.Context) error {
			inv, host, err := p.invokeWithHost(c)
			if err != nil {
				return err
			}
			if c.Duration("deadline") != 0 && !c.Bool("stop") || c.Duration("deadline") < 0 {
				return exit.Usagef("--deadline takes a time from now, such as 30m, and goes with --stop")
			}
			if c.Bool("stop") {
				if err := client.DrainHost(c.Context, inv.Client, host.Cluster, host.ID, c.Duration("deadline")); err != nil {
					return err
				}
			}
			if err := drain(c.Context, inv, host, c.Duration("timeout")); err != nil {
				return err
			}
			_, err = fmt.Fprintf(inv.Out, "%s is drained\n", host.Name)
			return err
		},
	}
}

func activateCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "activate",
		Usage:     "Make a drained host schedulable again",
		ArgsUsage: "HOST",
		Description: `HOST is a name, an id, or the first digits of an id.

Examples:
   pinion activate gpu-2`,
		Action: func(c *cli.Context) error {
			inv, host, err := p.invokeWithHost(c)
			if err != nil {
				return err
			}
			if err := inv.Client.SetHostStatus(c.Context, host.Cluster, host.ID, "ACTIVE"); err != nil {
				return err
			}
			_, err = fmt.Fprintf(inv.Out, "%s is active\n", host.Name)
			return err
		},
	}
}

// drain waits until the host has no task left; timeout 0 is no limit.
func drain(ctx context.Context, inv *invocation.Invocation, host client.Host, timeout time.Duration) error {
	if err := inv.Client.SetHostStatus(ctx, host.Cluster, host.ID, client.Draining); err != nil {
		return err
	}
	return inv.WaitUntilNone(ctx, timeout, func() (int, error) { return taskCount(ctx, inv, host.ID) },
		func(left int) { inv.Notef("%s: %s still running ...", host.Name, format.Plural(left, "task")) },
		func(left int) error {
			return fmt.Errorf("host %s still has %s after %s, and gets no new ones. `pinion ps` lists them; `pinion activate %s` makes the host schedulable again", host.Name, format.Plural(left, "task"), timeout, host.Name)
		})
}

// taskCount is the number of tasks of a host that have not stopped; 0 for a host that was removed.
func taskCount(ctx context.Context, inv *invocation.Invocation, id string) (n int, err error) {
	err = inv.RetryUnavailable(ctx, func() error {
		hosts, err := inv.Client.Hosts(ctx)
		if at := slices.IndexFunc(hosts, func(h client.Host) bool { return h.ID == id }); at >= 0 {
			n = hosts[at].Tasks
		}
		return err
	})
	return n, err
}
