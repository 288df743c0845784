package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"
)

// DownConfig is what `pinion down` was asked for.
type DownConfig struct {
	DataDir string // absolute path of the host's data directory
	Purge   bool   // remove the directory too
}

func downCommand(down func(context.Context, DownConfig) error) *cli.Command {
	var config DownConfig
	return &cli.Command{
		Name:  "down",
		Usage: "end this host: pinion, its tasks, its container runtime and its networks",
		Description: `Stopping 'pinion up' leaves the tasks running, so that it can be upgraded under them. This ends them too, at once, and
with --purge removes the data directory: the machine is as it was before the first 'pinion up'.

Examples:
   sudo pinion down
   sudo pinion --data-dir /tmp/one down --purge`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "purge", Destination: &config.Purge, Usage: "remove the data directory, with the pool's state, keys and logs"},
		},
		Action: func(c *cli.Context) error {
			var err error
			if config.DataDir, err = filepath.Abs(dataDir(c)); err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			if err := localMachine().check(); err != nil {
				return err
			}
			return down(c.Context, config)
		},
	}
}
