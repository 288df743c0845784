package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/invocation"
)

// DownConfig is the options of `pinion down`.
type DownConfig struct {
	DataDir string // absolute path of the host's data directory
	Purge   bool   // remove the directory too
}

func downCommand(down func(context.Context, DownConfig) error) *cli.Command {
	var config DownConfig
	return &cli.Command{
		Name:  "down",
		Usage: "Stop this host with its tasks, container runtime and networks",
		Description: `Stopping 'pinion up' leaves the tasks running, so that Pinion can be upgraded. This command stops them too, at once, and with
--purge removes the data directory: nothing of Pinion is left.

Examples:
   sudo pinion down
   sudo pinion --data-dir /tmp/one down --purge`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "purge", Destination: &config.Purge, Usage: "remove the data directory, with the pool's state, keys and logs"},
		},
		Action: func(c *cli.Context) error {
			var err error
			if config.DataDir, err = filepath.Abs(invocation.DataDir(c)); err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			if err := localMachine().check(); err != nil {
				return err
			}
			return down(c.Context, config)
		},
	}
}
