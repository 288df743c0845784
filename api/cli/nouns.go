package cli

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/access"
	"pinion/api/cli/change"
	"pinion/api/cli/exec"
	"pinion/api/cli/run"
	"pinion/api/cli/service"
	"pinion/api/cli/stop"
	"pinion/api/cli/why"
)

// listVerb is a command that lists, as the verb of a noun.
func listVerb(c *cli.Command) *cli.Command {
	c.Name, c.Aliases = "ls", []string{"list"}
	return c
}

// taskCommand has the commands about tasks by noun and verb. The daily ones stand at the top level too.
func taskCommand(p Program) *cli.Command {
	list := psCommand(p)
	return &cli.Command{
		Name: "task", Aliases: []string{"tasks"},
		Usage: "Run, list, explain, hold, requeue and stop tasks",
		Description: `Examples:
   pinion task ls
   pinion task hold 3f2a91c0`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: append([]*cli.Command{
			run.Command(p.system, service.CreateFromRun, exec.Run), listVerb(psCommand(p)), inspectCommand(p), logsCommand(p), exec.Command(p.system), exec.CopyCommand(p.system), why.Command(p.system), stop.Command(p.system), queueCommand(p),
		}, change.Commands(p.system)...),
	}
}

// poolCommand has the commands about the pool as a whole.
func poolCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "pool",
		Usage: "Settings, limits, logins, events and snapshots of the whole pool",
		Description: `Without a verb it shows the settings.

Examples:
   pinion pool set lost-after=2m
   pinion pool limits
   pinion pool snapshot save /backup/pinion.snapshot`,
		Action:      func(c *cli.Context) error { return access.PrintSettings(p.system, c) },
		Subcommands: []*cli.Command{access.ShowSettings(p.system), access.SetSettings(p.system), access.Limits(p.system), access.OIDC(p.system), eventsCommand(p), access.Audit(p.system), snapshotCommand(p)},
	}
}
