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

// leaveOptions is what `pinion leave` was asked for.
type leaveOptions struct {
	timeout time.Duration // to wait for tasks to end, 0 is for ever
	force   bool          // do not wait for them at all
	down    DownConfig
}

func leaveCommand(p Program) *cli.Command {
	var options leaveOptions
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
			&cli.DurationFlag{Name: "timeout", Destination: &options.timeout, DefaultText: "as long as it takes", Usage: "`TIME` to wait for tasks to end, such as 10m"},
			&cli.BoolFlag{Name: "force", Destination: &options.force, Usage: "do not wait for tasks"},
		},
		Action: func(c *cli.Context) (err error) {
			if globalFlag(c, "host") != "" {
				return usageErrorf("pinion leave is about this machine; to remove another host: pinion hosts rm HOST")
			}
			if err := localMachine().check(); err != nil {
				return err
			}
			if options.down.DataDir, err = filepath.Abs(dataDir(c)); err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			options.down.Purge = true
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			return s.leavePool(c.Context, options, p.Down)
		},
	}
}

func (s *session) leavePool(ctx context.Context, options leaveOptions, down func(context.Context, DownConfig) error) error {
	self, err := s.localHost(ctx)
	if err != nil {
		return err
	}
	if !options.force {
		if err := s.drain(ctx, self, options.timeout); err != nil {
			return err
		}
	}
	if err := s.retryUnavailable(ctx, func() error { return s.removeHost(ctx, self, options.force) }); err != nil {
		return err
	}
	s.notef("%s is no longer part of the pool; cleaning up this machine ...", self.Name)
	if err := down(ctx, options.down); err != nil {
		return fmt.Errorf("this host has left its pool, but the machine is not clean: %w. `pinion down --purge` tries again", err)
	}
	_, err = fmt.Fprintf(s.out, "%s has left\n", self.Name)
	return err
}

// localHost is this machine's host, which must not be the only one: a pool ends with its last host.
func (s *session) localHost(ctx context.Context) (client.Host, error) {
	id, err := s.client.HostID(ctx)
	if err != nil {
		return client.Host{}, err
	}
	hosts, err := s.client.Hosts(ctx)
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

// removeHost counts a host that is not known as removed: an earlier try may have done it without an answer.
func (s *session) removeHost(ctx context.Context, host client.Host, force bool) error {
	err := s.client.UpdateHost(ctx, client.RemoveHost, host.ID, force)
	if refused, ok := errors.AsType[*client.APIError](err); ok && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}
