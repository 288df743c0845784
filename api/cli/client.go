package cli

import (
	"runtime"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// refuseHostCommands makes the commands about this machine say that they are for hosts, where the program is a client alone.
func refuseHostCommands(commands []*cli.Command) {
	for _, command := range commands {
		if categories[command.Name] == "This machine" {
			refuseHostCommand(command, "pinion "+command.Name)
		}
	}
}

func refuseHostCommand(command *cli.Command, name string) {
	command.Before = nil
	command.Action = func(*cli.Context) error {
		return exit.Usagef("%s runs on Linux hosts only, and this is the client for %s: use it with --host HOST or after `pinion login`", name, runtime.GOOS)
	}
	for _, below := range command.Subcommands {
		refuseHostCommand(below, name+" "+below.Name)
	}
}
