package cli

import (
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"
)

// pauseCommand does nothing until it is told to stop: a task of the built-in image that stays, for trying things out.
func pauseCommand() *cli.Command {
	return &cli.Command{
		Name:  "pause",
		Usage: "wait until stopped (SIGTERM or Ctrl-C), doing nothing",
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
