package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// leaveOptions are the options of `pinion leave`.
type leaveOptions struct {
	timeout time.Duration // to wait for tasks to end, 0 is no limit
	force   bool          // do not wait for them at all
	down    DownConfig
}

func leaveCommand(p Program) *cli.Command {
	var options leaveOptions
	return &cli.Command{
		Name:  "leave",
		Usage: "Remove this host from its pool and clean up the machine",
		Description: `Drains this host, waits until its tasks have ended, removes it from the pool and then does what 'pinion down --purge'
does. The host's id is never used again; the machine can join again as a new host.

Examples:
   sudo pinion leave
   sudo pinion leave --timeout 1h
   sudo pinion leave --force        # its tasks are stopped
   sudo pinion leave --dry-run`,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "timeout", Destination: &options.timeout, DefaultText: "as long as it takes", Usage: "`TIME` to wait for tasks to end, such as 10m"},
			&cli.BoolFlag{Name: "force", Destination: &options.force, Usage: "do not wait for tasks"},
			invocation.DryRunFlag("ended and removed"),
		},
		Action: func(c *cli.Context) (err error) {
			if err := refuseLogin(p, c, "to remove another host: `pinion host rm HOST`"); err != nil {
				return err
			}
			if err := localMachine().check(); err != nil {
				return err
			}
			if options.down.DataDir, err = filepath.Abs(invocation.DataDir(c)); err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			options.down.Purge, options.down.Force = true, true // its tasks have ended, or shall
			options.down.DryRun = c.Bool(invocation.DryRun)
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			return leavePool(c.Context, inv, options, p.Down)
		},
	}
}

func leavePool(ctx context.Context, inv *invocation.Invocation, options leaveOptions, down func(context.Context, DownConfig) (int, error)) error {
	self, err := localHost(ctx, inv)
	if err != nil {
		return err
	}
	if options.down.DryRun {
		return showLeave(inv, self, options)
	}
	if !options.force {
		if err := drain(ctx, inv, self, options.timeout); err != nil {
			return err
		}
	}
	owners := ownersHere(ctx, options.down.DataDir)
	if err := inv.RetryUnavailable(ctx, func() error { return removeHost(ctx, inv, self, options.force) }); err != nil {
		return err
	}
	inv.Notef("%s was removed from the pool; cleaning up this machine ...", self.Name)
	ended, err := down(ctx, options.down)
	if err != nil {
		return fmt.Errorf("this host was removed from its pool, but cleaning up failed: %w. Try again with `pinion down --purge --force`", err)
	}
	printDown(inv.Err, options.down, ended, owners)
	_, err = fmt.Fprintf(inv.Out, "%s has left\n", self.Name)
	return err
}

// showLeave says what `pinion leave` would do.
func showLeave(inv *invocation.Invocation, self client.Host, options leaveOptions) error {
	end := "would wait for " + format.Plural(self.Tasks, "task")
	if options.force {
		end = "would stop " + format.Plural(self.Tasks, "task")
	}
	_, err := fmt.Fprintf(inv.Out, "%s (%s) %s, leave its pool for good, and remove %s; nothing was changed\n", self.Name, self.Role, end, options.down.DataDir)
	return err
}

// localHost is this machine's host. It must not be the only one of its pool.
func localHost(ctx context.Context, inv *invocation.Invocation) (client.Host, error) {
	id, err := inv.Client.HostID(ctx)
	if err != nil {
		return client.Host{}, err
	}
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return client.Host{}, err
	}
	for _, h := range hosts {
		if h.ID != id {
			continue
		}
		if len(hosts) == 1 {
			return h, errors.New("this is the only host of its pool: leaving would delete the pool. `pinion down --purge` does that")
		}
		return h, nil
	}
	return client.Host{}, errors.New("this host was already removed from the pool. `pinion down --purge` cleans up the machine")
}

// removeHost counts an unknown host as removed: the answer to an earlier try may have been lost.
func removeHost(ctx context.Context, inv *invocation.Invocation, host client.Host, force bool) error {
	err := inv.Client.ChangeHost(ctx, client.RemoveHost, host.ID, force)
	if refused, ok := errors.AsType[*client.APIError](err); ok && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}
