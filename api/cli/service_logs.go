package cli

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/client"
	"pinion/raftfsm/service"
)

// serviceLogsCommand is `pinion logs` of all tasks of a service.
func serviceLogsCommand(p Program) *cli.Command {
	logs := logsCommand(p)
	var flags []cli.Flag
	for _, flag := range logs.Flags {
		if flag.Names()[0] != "group" {
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
			return showLogs(p, c, func(inv *invocation.Invocation, c *cli.Context) ([]client.Task, error) {
				return selection.GroupTasks(c.Context, inv, c.String("cluster"), service.GroupPrefix+c.Args().First())
			})
		},
	}
}
