package access

import (
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
	"pinion/raftfsm/team"
)

// Teams is `pinion team`.
func Teams(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "team",
		Usage: "Manage GPU quotas and weights of teams",
		Description: `A task's team is its tag pinion.team (pinion run --team). A quota is the number of GPUs that a team gets before teams above
their quotas; it may use more while others do not need them (borrow), and without a quota it borrows all it uses. Teams share
what they borrow by weight: weight 2 gets twice as many GPU-hours as weight 1.

Examples:
   pinion team set --quota 16 --weight 2 vision
   pinion team ls
   pinion team rm vision`,
		Subcommands: []*cli.Command{teamSetCommand(system), teamListCommand(system), teamRemoveCommand(system)},
	}
}

func teamSetCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "Set the quota or the weight of teams; an option that is not given stays",
		ArgsUsage: "TEAM...",
		Description: `Examples:
   pinion team set --quota 16 vision
   pinion team set --weight 2 vision speech`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "quota", DefaultText: "none", Usage: "`N` GPUs, 0 or more"},
			&cli.IntFlag{Name: "weight", DefaultText: "1", Usage: fmt.Sprintf("share `N` relative to other teams, 1 to %d", team.MaxWeight)},
		},
		Action: func(c *cli.Context) error {
			quota, weight, err := teamFlags(c)
			if err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			var teams []client.Team
			for _, name := range c.Args().Slice() {
				team, err := inv.Client.SetTeam(c.Context, name, quota, weight)
				if err != nil {
					return fmt.Errorf("team %q: %w", name, err)
				}
				teams = append(teams, team)
			}
			return printTeams(inv, teams)
		},
	}
}

// teamFlags are the flags that are given; nil for the others.
func teamFlags(c *cli.Context) (quota, weight *int, err error) {
	if c.IsSet("quota") {
		n := c.Int("quota")
		quota = &n
	}
	if c.IsSet("weight") {
		n := c.Int("weight")
		weight = &n
	}
	switch {
	case quota == nil && weight == nil:
		return nil, nil, exit.Usagef("give --quota, --weight or both; see %s --help", c.Command.HelpName)
	case quota != nil && *quota < 0:
		return nil, nil, exit.Usagef("--quota %d: a quota is 0 GPUs or more", *quota)
	case weight != nil && (*weight < 1 || *weight > team.MaxWeight):
		return nil, nil, exit.Usagef("--weight %d: a weight is 1 to %d", *weight, team.MaxWeight)
	}
	return quota, weight, nil
}

func teamListCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List teams with their quotas, weights and GPUs in use",
		Description: `Examples:
   pinion team ls
   pinion team ls -o json`,
		Flags: append(listing.Flags(), invocation.QuietFlag()),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.Team], error) {
			var teams []listing.Item[client.Team]
			err := inv.Client.Get(ctx, "/v1/teams", nil, &teams)
			return listing.List[client.Team]{Items: teams, ID: func(t client.Team) string { return t.Name }, Table: func(teams []client.Team) (*table.Table, error) {
				return teamTable(teams), nil
			}}, err
		}),
	}
}

func printTeams(inv *invocation.Invocation, teams []client.Team) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(teams)
	}
	return inv.PrintTable(teamTable(teams))
}

func teamTable(teams []client.Team) *table.Table {
	t := &table.Table{Header: []string{"TEAM", "QUOTA", "WEIGHT", "IN USE"}, Empty: "no team has a quota, a weight or GPUs; `pinion team set` gives one"}
	for _, team := range teams {
		name, quota := team.Name, "none"
		if name == "" {
			name = "(none)"
		}
		if team.Quota != nil {
			quota = strconv.Itoa(*team.Quota)
		}
		t.Add(name, quota, strconv.Itoa(team.Weight), strconv.Itoa(team.GPUsInUse))
	}
	return t
}

func teamRemoveCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove the quota and the weight of teams",
		ArgsUsage: "TEAM...",
		Description: `The tasks of the team stay; it has no quota and weight 1 then.

Examples:
   pinion team rm vision`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			for _, name := range c.Args().Slice() {
				if err := inv.Client.RemoveTeam(c.Context, name); err != nil {
					return fmt.Errorf("team %q: %w", name, err)
				}
				fmt.Fprintln(inv.Out, name)
			}
			return nil
		},
	}
}
