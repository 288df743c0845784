package cli

import "github.com/urfave/cli/v2"

func inspectCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "show everything about tasks, as JSON",
		ArgsUsage: "TASK...",
		Description: `Prints what DescribeTasks answers. TASK is an id, the beginning of one, or an ARN.

Examples:
   pinion inspect 3f2a91c0
   pinion inspect 3f2a91c0 | jq -r '.[0].containers[].gpuIds[]'`,
		Flags: []cli.Flag{clusterFlag()},
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			ids, err := s.resolveTaskIDs(c.Context, c.String("cluster"), c.Args().Slice())
			if err != nil {
				return err
			}
			tasks, err := s.describeTasks(c.Context, c.String("cluster"), ids)
			if err != nil {
				return err
			}
			return printJSON(s.out, tasks)
		},
	}
}
