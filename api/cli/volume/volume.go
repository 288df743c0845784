// Package volume is `pinion volume`: it lists and removes the shared volumes of hosts.
package volume

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// Command is the command `pinion volume`.
func Command(system invocation.System) *cli.Command {
	list := listCommand(system)
	return &cli.Command{
		Name: "volume", Aliases: []string{"volumes"},
		Usage: "List and remove the shared volumes of hosts",
		Description: `A shared volume (dockerVolumeConfiguration with scope shared, a volume of a Compose file) stays on its host when its tasks have ended.

Examples:
   pinion volume ls
   pinion volume rm models --on-host gpu-1`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{listCommand(system), removeCommand(system)},
	}
}

func listCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List the shared volumes that hosts have",
		Description: `A host tells of 256, the first by their names.

Examples:
   pinion volume ls
   pinion volume ls --filter host=gpu-1 -q`,
		Flags: append(listing.Flags(), invocation.QuietFlag()),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.Volume], error) {
			all, err := client.Volumes[listing.Item[client.Volume]](ctx, inv.Client)
			return listing.List[client.Volume]{Items: all, ID: func(v client.Volume) string { return v.Name }, Table: func(shown []client.Volume) (*table.Table, error) {
				t := &table.Table{Header: []string{"NAME", "HOST"}, Empty: "no host has a shared volume; a task whose definition has one with autoprovision makes it"}
				for _, v := range shown {
					t.Add(format.Plain(v.Name), format.Plain(v.HostName))
				}
				return t, nil
			}}, err
		}),
	}
}

func removeCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove shared volumes of a host, with all that is in them",
		ArgsUsage: "VOLUME...",
		Description: `It is refused while a task of the host has the volume. Where several hosts have volumes of one name, --on-host says whose. A directory that the
operator has named (pinion up --volume NAME=DIR) stays.

Examples:
   pinion volume rm models
   pinion volume rm models --on-host gpu-1
   pinion volume rm models --dry-run`,
		Flags: []cli.Flag{&cli.StringFlag{Name: "on-host", Usage: "the volumes of one `HOST`, by its name or its id"}, invocation.DryRunFlag("removed")},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return exit.Usagef("%s takes the name of a volume; see %s --help", c.Command.HelpName, c.Command.HelpName)
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			found, err := find(c, inv)
			if err != nil {
				return err
			}
			return remove(c, inv, found)
		},
	}
}

// find finds the volumes that the arguments name, each on one host.
func find(c *cli.Context, inv *invocation.Invocation) (found []client.Volume, err error) {
	if given := c.String("on-host"); given != "" {
		host, err := inv.FindHost(c.Context, given)
		if err != nil {
			return nil, err
		}
		for _, name := range c.Args().Slice() { // also those that the host has not told of
			found = append(found, client.Volume{Name: name, HostID: host.ID, HostName: host.Name})
		}
		return found, nil
	}
	all, err := client.Volumes[client.Volume](c.Context, inv.Client)
	if err != nil {
		return nil, err
	}
	for _, name := range c.Args().Slice() {
		var named []client.Volume
		var hosts []string
		for _, v := range all {
			if v.Name == name {
				named, hosts = append(named, v), append(hosts, format.Plain(v.HostName))
			}
		}
		switch len(named) {
		case 0:
			return nil, exit.Errorf(exit.Failure, "no host has told of a shared volume %q; `pinion volume ls` lists them, and --on-host names a host that has more than 256", name)
		case 1:
			found = append(found, named[0])
		default:
			return nil, exit.Errorf(exit.Failure, "%s have a shared volume %q: say whose is to be removed with --on-host", strings.Join(hosts, ", "), name)
		}
	}
	return found, nil
}

func remove(c *cli.Context, inv *invocation.Invocation, volumes []client.Volume) error {
	if c.Bool(invocation.DryRun) {
		inv.Notef("%s would be removed; nothing was changed", format.Plural(len(volumes), "volume"))
	}
	for _, v := range volumes {
		if !c.Bool(invocation.DryRun) {
			if err := client.RemoveVolume(c.Context, inv.Client, v.HostID, v.Name); err != nil {
				return fmt.Errorf("%s: %w", format.Plain(v.HostName), err)
			}
		}
		if inv.Output != invocation.JSON {
			fmt.Fprintln(inv.Out, format.Plain(v.Name))
		}
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(volumes)
	}
	return nil
}
