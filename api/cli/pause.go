package cli

import (
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"
)

// pauseCommand waits until it is stopped: a long-running command for the built-in image.
func pauseCommand() *cli.Command {
	return &cli.Command{
		Name:  "pause",
		Usage: "Wait until stopped (SIGTERM or Ctrl-C)",
		Description: `Examples:
   pinion run -d --gpus 1 pinion/self -- pinion pause`,
		Hidden: true,
		Action: func(c *cli.Context) error {
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			<-ctx.Done()
			return nil
		},
	}
}
