package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func hostRemoveCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "remove a host from the pool for ever",
		ArgsUsage: "HOST",
		Description: `For a host that is gone, or was drained. Its certificate is refused from then on, and its id can never join again. On a
machine that still works, 'pinion leave' does this and cleans up.

Examples:
   pinion hosts rm gpu-2
   pinion hosts rm --force gpu-2    # also while it has tasks: they count as STOPPED at once`,
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "whatever runs there"}},
		Action: func(c *cli.Context) error { return p.changeHost(c, client.RemoveHost, "removed", c.Bool("force")) },
	}
}

func hostPromoteCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "promote",
		Usage:     "have a host hold the pool's state, as one of its servers",
		ArgsUsage: "HOST",
		Description: `The pool chooses its servers by itself; this is for those who know better.

Examples:
   pinion hosts promote gpu-2`,
		Action: func(c *cli.Context) error { return p.changeHost(c, client.PromoteHost, "to be a server", false) },
	}
}

func hostDemoteCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "demote",
		Usage:     "have a host hold nothing of the pool's state, and go on as an agent",
		ArgsUsage: "HOST",
		Description: `Its tasks run on. Another host takes its place as a server if there is one.

Examples:
   pinion hosts demote gpu-2`,
		Action: func(c *cli.Context) error { return p.changeHost(c, client.DemoteHost, "to be an agent", false) },
	}
}

// changeHost makes a change and says in one line what became of the host.
func (p Program) changeHost(c *cli.Context, change, result string, force bool) error {
	s, host, err := p.newHostSession(c)
	if err != nil {
		return err
	}
	if err := s.client.UpdateHost(c.Context, change, host.ID, force); err != nil {
		return fmt.Errorf("host %s: %w", host.Name, err)
	}
	_, err = fmt.Fprintf(s.out, "%s is %s\n", host.Name, result)
	return err
}
