package cli

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
)

func inspectCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "Show all fields of tasks as JSON",
		ArgsUsage: "TASK...",
		Description: `Prints the answer of DescribeTasks. TASK is an id, its first digits, an ARN, or a
name: that of 'pinion run --name', a family or a group.

Examples:
   pinion inspect 3f2a91c0
   pinion inspect 3f2a91c0 | jq -r '.[0].containers[].gpuIds[]'`,
		Flags: []cli.Flag{invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			ids, err := selection.Resolve(c.Context, inv, c.String("cluster"), c.Args().Slice())
			if err != nil {
				return err
			}
			tasks, err := inv.DescribeTasks(c.Context, c.String("cluster"), ids)
			if err != nil {
				return err
			}
			return inv.PrintJSON(tasks)
		},
	}
}
