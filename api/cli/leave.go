package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

// leaveOrder is what `pinion leave` was asked for.
type leaveOrder struct {
	timeout time.Duration // to wait for tasks to end, 0 is for ever
	force   bool          // do not wait for them at all
	down    DownConfig
}

func leaveCommand(p Program) *cli.Command {
	var order leaveOrder
	return &cli.Command{
		Name:  "leave",
		Usage: "take this machine out of its pool, and clean it up",
		Description: `Drains this host, waits until its tasks have ended, removes it from the pool and then does what 'pinion down --purge'
does. The host's id is never used again; to come back, the machine joins anew.

Examples:
   sudo pinion leave
   sudo pinion leave --timeout 1h
   sudo pinion leave --force        # its tasks are ended, and count as STOPPED`,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "timeout", Destination: &order.timeout, DefaultText: "as long as it takes", Usage: "`TIME` to wait for tasks to end, such as 10m"},
			&cli.BoolFlag{Name: "force", Destination: &order.force, Usage: "do not wait for tasks"},
		},
		Action: func(c *cli.Context) (err error) {
			if global(c, "host") != "" {
				return usageErrorf("pinion leave is about this machine; to remove another host: pinion hosts rm HOST")
			}
			if err := thisMachine().check(); err != nil {
				return err
			}
			if order.down.DataDir, err = filepath.Abs(dataDir(c)); err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			order.down.Purge = true
			d, err := p.openDesk(c)
			if err != nil {
				return err
			}
			return d.leave(c.Context, order, p.Down)
		},
	}
}

func (d *desk) leave(ctx context.Context, order leaveOrder, down func(context.Context, DownConfig) error) error {
	self, err := d.self(ctx)
	if err != nil {
		return err
	}
	if !order.force {
		if err := d.drain(ctx, self, order.timeout); err != nil {
			return err
		}
	}
	if err := d.patiently(ctx, func() error { return d.remove(ctx, self, order.force) }); err != nil {
		return err
	}
	d.note("%s is no longer part of the pool; cleaning up this machine ...", self.Name)
	if err := down(ctx, order.down); err != nil {
		return fmt.Errorf("this host has left its pool, but the machine is not clean: %w. `pinion down --purge` tries again", err)
	}
	_, err = fmt.Fprintf(d.out, "%s has left\n", self.Name)
	return err
}

// self is this machine's host, which must not be the only one: a pool ends with its last host.
func (d *desk) self(ctx context.Context) (client.Host, error) {
	id, err := d.host.HostID(ctx)
	if err != nil {
		return client.Host{}, err
	}
	hosts, err := d.host.Hosts(ctx)
	if err != nil {
		return client.Host{}, err
	}
	for _, h := range hosts {
		if h.ID != id {
			continue
		}
		if len(hosts) == 1 {
			return h, errors.New("this is the only host of its pool, which would be gone with it. `pinion down --purge` does that")
		}
		return h, nil
	}
	return client.Host{}, errors.New("this machine's host is not part of the pool any more. `pinion down --purge` cleans up the machine")
}

// remove counts a host that is not known as removed: an earlier try may have done it without an answer.
func (d *desk) remove(ctx context.Context, host client.Host, force bool) error {
	err := d.host.ChangeHost(ctx, client.RemoveHost, host.ID, force)
	if refused, ok := errors.AsType[*client.APIError](err); ok && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}
