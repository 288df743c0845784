package cli

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/selection"
)

// serviceLogsCommand is `pinion logs` of all tasks of a service.
func serviceLogsCommand(p Program) *cli.Command {
	logs := logsCommand(p)
	var flags []cli.Flag
	for _, flag := range logs.Flags {
		if name := flag.Names()[0]; name != "group" && name != "family" {
			flags = append(flags, flag)
		}
	}
	return &cli.Command{
		Name:      "logs",
		Usage:     "Show the logs of the tasks of a service",
		ArgsUsage: "SERVICE",
		Description: `Shows the tasks that run and those that stopped within the last hour. Lines begin with the task.

Examples:
   pinion service logs web --tail 20
   pinion service logs web -f --since 10m`,
		Flags: flags,
		Action: func(c *cli.Context) error {
			return showLogs(p, c, selection.ServiceTarget(c.String("cluster"), c.Args().First()))
		},
	}
}
