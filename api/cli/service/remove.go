package service

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

func removeCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove services and stop their tasks",
		ArgsUsage: "SERVICE...",
		Description: `Waits until the tasks have stopped, and prints the names. Task definitions stay.

Examples:
   pinion service rm web
   pinion service rm --dry-run web
   pinion service ls -q | xargs pinion service rm -d`,
		Flags: []cli.Flag{detachFlag(), invocation.DryRunFlag("removed and stopped"), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if c.Bool(invocation.DryRun) {
				return showRemoval(c.Context, inv, c.String("cluster"), c.Args().Slice())
			}
			for _, name := range c.Args().Slice() {
				if err := Remove(c.Context, inv, c.String("cluster"), name, c.Bool("detach")); err != nil {
					return fmt.Errorf("service %s: %w", name, err)
				}
				if _, err := fmt.Fprintln(inv.Out, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// showRemoval prints the services that would be removed, with what would stop.
func showRemoval(ctx context.Context, inv *invocation.Invocation, cluster string, names []string) error {
	for _, name := range names {
		s, err := find(ctx, inv, cluster, name)
		if err != nil {
			return fmt.Errorf("service %s: %w", name, err)
		}
		inv.Notef("%s would be removed, and %s stopped; nothing was changed", name, format.Plural(s.Running+s.Pending, "task"))
		if _, err := fmt.Fprintln(inv.Out, name); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes a service, and waits until its tasks have stopped unless detach is set.
func Remove(ctx context.Context, inv *invocation.Invocation, cluster, name string, detach bool) error {
	gone, err := send(ctx, inv, "DeleteService", map[string]any{"cluster": cluster, "service": name, "force": true})
	if err != nil {
		return err
	}
	shown := -1
	for s := gone.Value; !detach && s.Status == "DRAINING"; {
		if left := s.Running + s.Pending; left != shown {
			inv.Notef("%s: waiting for %s to stop ...", name, format.Plural(left, "task"))
			shown = left
		}
		if err := inv.Sleep(ctx, pollInterval); err != nil {
			return err
		}
		err := inv.RetryUnavailable(ctx, func() (err error) {
			var now client.Service
			if now, err = find(ctx, inv, cluster, name); err == nil {
				s = now
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
