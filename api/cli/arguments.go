package cli

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/arguments"
	"pinion/api/cli/exit"
)

// checkArguments runs before every command. A command without arguments in its help takes none; any other needs at least
// one unless they are in brackets.
func checkArguments(c *cli.Context) error {
	name, first := c.Command.HelpName, c.Args().First()
	switch {
	case c.Command.Command(first) != nil:
		return nil // the arguments are that one's
	case c.Command.ArgsUsage == "" && first != "" && len(c.Command.Subcommands) > 0:
		return arguments.NoVerb(name, first, c.Command.Subcommands)
	case c.Command.ArgsUsage == "" && first != "":
		return exit.Usagef("%s takes no argument, but got %q; see %s --help", name, first, name)
	case c.Command.ArgsUsage != "" && c.Command.ArgsUsage[0] != '[' && first == "":
		return exit.Usagef("%s needs an argument: %s %s; see %s --help", name, name, c.Command.ArgsUsage, name)
	}
	return nil
}
