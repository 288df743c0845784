package cli

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

func teamCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "quota",
		Usage: "say how many GPUs a team has a right to, and how much it counts for among teams",
		Description: `A task's team is its tag pinion.team. A team may use more than its quota while nobody below their own waits for it; one
without a quota has a right to none and borrows whatever it uses. Teams that wait share what is free by their weights; a team with
weight 2 gets twice as many GPU-hours as one with weight 1.

Examples:
   pinion quota set --gpus 16 --weight 2 vision
   pinion quota ls
   pinion quota rm vision`,
		Subcommands: []*cli.Command{teamSetCommand(p), teamListCommand(p), teamRemoveCommand(p)},
	}
}

func teamSetCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "set the quota or the weight of teams; what is not given stays",
		ArgsUsage: "TEAM...",
		Description: `Examples:
   pinion quota set --gpus 16 vision
   pinion quota set --weight 2 vision speech`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "gpus", DefaultText: "none", Usage: "`N` GPUs that the team has a right to, 0 or more"},
			&cli.IntFlag{Name: "weight", DefaultText: "1", Usage: fmt.Sprintf("`N`, the team's part of what teams share, 1 to %d", spec.MaxWeight)},
		},
		Action: func(c *cli.Context) error {
			gpus, weight, err := teamFlags(c)
			if err != nil {
				return err
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			var teams []client.Team
			for _, name := range c.Args().Slice() {
				team, err := s.client.SetTeam(c.Context, name, gpus, weight)
				if err != nil {
					return fmt.Errorf("team %q: %w", name, err)
				}
				teams = append(teams, team)
			}
			return s.printTeams(teams)
		},
	}
}

// teamFlags are the flags that are given; nil for the others.
func teamFlags(c *cli.Context) (gpus, weight *int, err error) {
	if c.IsSet("gpus") {
		n := c.Int("gpus")
		gpus = &n
	}
	if c.IsSet("weight") {
		n := c.Int("weight")
		weight = &n
	}
	switch {
	case gpus == nil && weight == nil:
		return nil, nil, usageErrorf("give --gpus, --weight or both; see pinion quota set --help")
	case gpus != nil && *gpus < 0:
		return nil, nil, usageErrorf("--gpus %d: a quota is 0 GPUs or more", *gpus)
	case weight != nil && (*weight < 1 || *weight > spec.MaxWeight):
		return nil, nil, usageErrorf("--weight %d: a weight is 1 to %d", *weight, spec.MaxWeight)
	}
	return gpus, weight, nil
}

func teamListCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ls",
		Usage: "list teams with their quotas, their weights and the GPUs that they use",
		Description: `Examples:
   pinion quota ls
   pinion quota ls -o json`,
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			teams, err := s.client.Teams(c.Context)
			if err != nil {
				return err
			}
			return s.printTeams(teams)
		},
	}
}

func (s *session) printTeams(teams []client.Team) error {
	if s.output == outputJSON {
		return printJSON(s.out, teams)
	}
	t := &table{header: []string{"TEAM", "GPUS", "WEIGHT", "IN USE"}}
	for _, team := range teams {
		name, quota := team.Name, "none"
		if name == "" {
			name = `""`
		}
		if team.Quota != nil {
			quota = strconv.Itoa(*team.Quota)
		}
		t.add(name, quota, strconv.Itoa(team.Weight), strconv.Itoa(team.GPUsInUse))
	}
	return t.write(s.out, s.tableWidth())
}

func teamRemoveCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "forget the quota and the weight of teams: none, and 1",
		ArgsUsage: "TEAM...",
		Description: `The team's tasks stay as they are.

Examples:
   pinion quota rm vision`,
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			for _, name := range c.Args().Slice() {
				if err := s.client.RemoveTeam(c.Context, name); err != nil {
					return fmt.Errorf("team %q: %w", name, err)
				}
				fmt.Fprintln(s.out, name)
			}
			return nil
		},
	}
}
