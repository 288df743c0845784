package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

func hostRemoveCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove a host from the pool permanently",
		ArgsUsage: "HOST",
		Description: `For a host that is permanently gone, or was drained. Its certificate is refused from then on, and its id can never join again.
On a machine that still works, 'pinion leave' does this and cleans up.

Examples:
   pinion hosts rm gpu-2
   pinion hosts rm --force gpu-2    # its tasks are marked STOPPED at once
   pinion hosts rm --dry-run gpu-2`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "remove even if tasks are running"}, invocation.DryRunFlag("removed")},
		Action: func(c *cli.Context) error {
			if c.Bool(invocation.DryRun) {
				return p.showHostRemoval(c)
			}
			return p.changeHost(c, client.RemoveHost, "%s is removed", c.Bool("force"))
		},
	}
}

// showHostRemoval says what the removal of a host would do.
func (p Program) showHostRemoval(c *cli.Context) error {
	inv, host, err := p.invokeWithHost(c)
	if err != nil {
		return err
	}
	if host.Tasks > 0 && !c.Bool("force") {
		return stillRuns(host)
	}
	_, err = fmt.Fprintf(inv.Out, "%s (%s) would be removed for good, %s marked STOPPED; nothing was changed\n", host.Name, host.Role, format.Plural(host.Tasks, "task"))
	return err
}

// stillRuns refuses to remove a host with tasks.
func stillRuns(host client.Host) error {
	return fmt.Errorf("%s still runs %s: `pinion host drain %s` first, or --force", host.Name, format.Plural(host.Tasks, "task"), host.Name)
}

func hostPromoteCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "promote",
		Usage:     "Make a host a voting server",
		ArgsUsage: "HOST",
		Description: `The pool chooses its servers by itself; this is a manual override.

Examples:
   pinion hosts promote gpu-2`,
		Action: func(c *cli.Context) error {
			return p.changeHost(c, client.PromoteHost, "promoting %s to server", false)
		},
	}
}

func hostDemoteCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "demote",
		Usage:     "Make a server an agent that holds no state",
		ArgsUsage: "HOST",
		Description: `Its tasks run on. Another host becomes a server instead, if there is one.

Examples:
   pinion hosts demote gpu-2`,
		Action: func(c *cli.Context) error { return p.changeHost(c, client.DemoteHost, "demoting %s to agent", false) },
	}
}

// changeHost makes a change and prints the result, a format for the name of the host.
func (p Program) changeHost(c *cli.Context, change client.HostChange, result string, force bool) error {
	inv, host, err := p.invokeWithHost(c)
	if err != nil {
		return err
	}
	switch server := host.Role == "leader" || host.Role == "server"; {
	case change == client.PromoteHost && server:
		result = "%s is a server already"
	case change == client.DemoteHost && host.Role == "agent":
		result = "%s is an agent already"
	default:
		err = inv.Client.ChangeHost(c.Context, change, host.ID, force)
	}
	refusal, is := errors.AsType[*client.APIError](err)
	switch {
	case is && refusal.Type == "ResourceInUseException" && host.Tasks > 0 && change == client.RemoveHost:
		return stillRuns(host)
	case is: // it names the host by its id
		short := *refusal
		short.Message = strings.TrimPrefix(strings.TrimPrefix(short.Message, "host "+host.ID+": "), "in use: ")
		return fmt.Errorf("host %s: %w", host.Name, &short)
	case err != nil:
		return fmt.Errorf("host %s: %w", host.Name, err)
	}
	_, err = fmt.Fprintf(inv.Out, result+"\n", host.Name)
	return err
}
