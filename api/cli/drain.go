package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func drainCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "drain",
		Usage:     "give a host no new tasks, and wait until its tasks have ended",
		ArgsUsage: "HOST",
		Description: `Tasks that run there are left to end by themselves ('pinion stop' ends one). HOST is a name, an id, or the beginning of an
id. After --timeout the host stays drained and the command fails.

Examples:
   pinion drain gpu-2
   pinion drain --timeout 2h gpu-2 && ssh gpu-2 reboot
   pinion activate gpu-2`,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "timeout", DefaultText: "as long as it takes", Usage: "`TIME` to wait, such as 10m"},
		},
		Action: func(c *cli.Context) error {
			d, host, err := p.openAtHost(c)
			if err != nil {
				return err
			}
			if err := d.drain(c.Context, host, c.Duration("timeout")); err != nil {
				return err
			}
			_, err = fmt.Fprintf(d.out, "%s is drained\n", host.Name)
			return err
		},
	}
}

func activateCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "activate",
		Usage:     "give a drained host tasks again",
		ArgsUsage: "HOST",
		Description: `HOST is a name, an id, or the beginning of an id.

Examples:
   pinion activate gpu-2`,
		Action: func(c *cli.Context) error {
			d, host, err := p.openAtHost(c)
			if err != nil {
				return err
			}
			if err := d.host.SetHostStatus(c.Context, host.Cluster, host.ID, "ACTIVE"); err != nil {
				return err
			}
			_, err = fmt.Fprintf(d.out, "%s is active\n", host.Name)
			return err
		},
	}
}

// drain returns when the host has no task left; timeout 0 is for ever.
func (d *desk) drain(ctx context.Context, host client.Host, timeout time.Duration) error {
	if err := d.host.SetHostStatus(ctx, host.Cluster, host.ID, "DRAINING"); err != nil {
		return err
	}
	begin, told := d.now(), -1
	for {
		left, err := d.tasksOn(ctx, host.ID)
		if err != nil || left == 0 {
			return err
		}
		if left != told {
			told = left
			d.note("%s: %s left ...", host.Name, plural(left, "task"))
		}
		if timeout > 0 && d.now().Sub(begin) >= timeout {
			return fmt.Errorf("host %s still has %s after %s. It gets no new ones; `pinion ps` shows them, `pinion activate %s` takes the host back", host.Name, plural(left, "task"), timeout, host.Name)
		}
		if err := d.pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// tasksOn is how many tasks of a host have not ended; a host that is gone has none.
func (d *desk) tasksOn(ctx context.Context, id string) (left int, err error) {
	err = d.patiently(ctx, func() error {
		hosts, err := d.host.Hosts(ctx)
		if at := slices.IndexFunc(hosts, func(h client.Host) bool { return h.ID == id }); at >= 0 {
			left = hosts[at].Tasks
		}
		return err
	})
	return left, err
}
