package cli

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// pauseCommand waits until it is stopped: a long-running command for the built-in image.
func pauseCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "pause",
		Usage: "Wait until stopped (SIGTERM or Ctrl-C)",
		Description: `Examples:
   pinion run -d --gpus 1 pinion/self -- pinion pause`,
		Hidden:    true,
		ArgsUsage: "[TASK]", // to say that there is no such thing
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return exit.Usagef("a running task cannot be paused; `pinion task hold TASK` keeps one that waits from starting. pinion pause waits, as the command of a container")
			}
			if p.system.ScreenOf(c).Terminal {
				fmt.Fprintln(c.App.ErrWriter, "waiting until Ctrl-C: this is the command of a container that has nothing to do")
			}
			ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			<-ctx.Done()
			return nil
		},
	}
}
