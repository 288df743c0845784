package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// checkArguments runs before every command. A command without arguments in its help takes none; any other needs at least
// one unless they are in brackets. A flag after an argument is an error instead of becoming an argument.
func checkArguments(c *cli.Context) error {
	name, first := c.Command.HelpName, c.Args().First()
	switch {
	case c.Command.Command(first) != nil:
		return nil // the arguments are that one's
	case c.Command.ArgsUsage == "" && first != "":
		return exit.Usagef("%s takes no argument, but got %q; see %s --help", name, first, name)
	case c.Command.ArgsUsage != "" && c.Command.ArgsUsage[0] != '[' && first == "":
		return exit.Usagef("%s needs an argument: %s %s; see %s --help", name, name, c.Command.ArgsUsage, name)
	}
	for _, argument := range c.Args().Tail() {
		if argument == "--" {
			break // what follows belongs to a container
		}
		if invocation.LooksLikeFlag(argument) {
			return misplacedFlagError(name, argument, c.Command.ArgsUsage)
		}
	}
	return nil
}

func misplacedFlagError(name, flag, arguments string) error {
	if strings.Contains(arguments, "--") {
		return exit.Usagef("%s comes after the first argument. If it is for pinion, put it before; if it is for the container, put -- before the container's command: %s [options] %s", flag, name, arguments)
	}
	return exit.Usagef("put %s before the arguments: %s %s ... %s", flag, name, flag, arguments)
}
