package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/demo"
	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/unlock"
	"pinion/api/cli/upgrade"
)

// localVerbs are the commands that read or change this machine alone, beside those of the category "This machine".
var localVerbs = []string{"audit", "restore"}

// machineCommands are about this machine.
func machineCommands(p Program) []*cli.Command {
	all := []*cli.Command{
		upCommand(p.Up),
		demo.Command(localMachine().check),
		downCommand(p),
		leaveCommand(p),
		unlock.Command(p.Unlock, withLocalHost),
		doctorCommand(p),
		upgrade.Command(p.system, p.Upgrade, refuseOtherHost),
	}
	if p.Upgrade != nil {
		all = append(all, upgrade.GuardCommand(p.Upgrade), upgrade.InheritsCommand())
	}
	if p.Recover != nil {
		all = append(all, recoverCommand(p))
	}
	return all
}

// refuseOtherHosts makes the commands about this machine refuse a line, or an environment, that names another host: they would act on
// this machine while the user thinks of that one.
func refuseOtherHosts(commands []*cli.Command, local bool) {
	for _, command := range commands {
		local := local || categories[command.Name] == "This machine" || slices.Contains(localVerbs, command.Name)
		if before := command.Before; local {
			command.Before = func(c *cli.Context) error {
				if err := refuseOtherHost(c); err != nil {
					return err
				}
				return before(c)
			}
		}
		refuseOtherHosts(command.Subcommands, local)
	}
}

func refuseOtherHost(c *cli.Context) error {
	for flag, variable := range map[string]string{"host": "PINION_HOST", "context": "PINION_CONTEXT"} {
		if named := invocation.GlobalFlag(c, flag); named != "" {
			return exit.Usagef("%s is about this machine, and --%s (%s) names %s: run it on that machine, without --%s and %s", c.Command.HelpName, flag, variable, named, flag, variable)
		}
	}
	return nil
}

// refuseLogin refuses where the other commands of this user go to another machine by a login; instead says what to do.
func refuseLogin(p Program, c *cli.Context, instead string) error {
	connection, err := invocation.Connect(c, p.system.Clock())
	if err == nil && connection.Host == "" {
		return nil
	}
	other := "another host"
	if connection.Host != "" {
		other = connection.Host
	}
	return exit.Usagef("%s is about this machine, where no pinion runs, and your login is for %s: %s", c.Command.HelpName, other, instead)
}

// namesDataDir reports whether a line, or its environment, names a data directory.
func namesDataDir(c *cli.Context) bool {
	return slices.ContainsFunc(c.Lineage()[:len(c.Lineage())-1], func(level *cli.Context) bool { return level.IsSet("data-dir") })
}
