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
			s, host, err := p.newHostSession(c)
			if err != nil {
				return err
			}
			if err := s.drain(c.Context, host, c.Duration("timeout")); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s is drained\n", host.Name)
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
			s, host, err := p.newHostSession(c)
			if err != nil {
				return err
			}
			if err := s.client.SetHostStatus(c.Context, host.Cluster, host.ID, "ACTIVE"); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s is active\n", host.Name)
			return err
		},
	}
}

// drain returns when the host has no task left; timeout 0 is for ever.
func (s *session) drain(ctx context.Context, host client.Host, timeout time.Duration) error {
	if err := s.client.SetHostStatus(ctx, host.Cluster, host.ID, "DRAINING"); err != nil {
		return err
	}
	begin, printed := s.now(), -1
	for {
		left, err := s.taskCount(ctx, host.ID)
		if err != nil || left == 0 {
			return err
		}
		if left != printed {
			printed = left
			s.notef("%s: %s left ...", host.Name, plural(left, "task"))
		}
		if timeout > 0 && s.now().Sub(begin) >= timeout {
			return fmt.Errorf("host %s still has %s after %s. It gets no new ones; `pinion ps` shows them, `pinion activate %s` takes the host back", host.Name, plural(left, "task"), timeout, host.Name)
		}
		if err := s.sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// taskCount is how many tasks of a host have not ended; a host that is gone has none.
func (s *session) taskCount(ctx context.Context, id string) (n int, err error) {
	err = s.retryUnavailable(ctx, func() error {
		hosts, err := s.client.Hosts(ctx)
		if at := slices.IndexFunc(hosts, func(h client.Host) bool { return h.ID == id }); at >= 0 {
			n = hosts[at].Tasks
		}
		return err
	})
	return n, err
}
