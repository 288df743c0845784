// Package stats is the command that shows what containers use.
package stats

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
)

// betweenReadings is the time after which hosts have read their containers anew: they do so every 5 s at most.
const betweenReadings = 5500 * time.Millisecond

// Command is `pinion stats`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "stats",
		Usage:     "Show what running containers use: CPU, memory, network, block devices and GPUs",
		ArgsUsage: "[TASK...]",
		Description: `On a terminal it is drawn again every 2 s until Ctrl-C; into a pipe, with --once or -o json it is printed once, after the 5 s that it takes
to know how much CPU is used. Hosts read their containers every 5 s. CPU is 100% for each core that is busy; NET and BLOCK are what was received and
sent, and read and written, since the container started. '-' is what is not known. 'pinion top' shows GPUs.

Examples:
   pinion stats
   pinion stats 3f2a91c0
   pinion stats --once --filter team=vision -o json`,
		Flags: append(listing.Flags(), &cli.BoolFlag{Name: "once", Usage: "print it once"}),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			r := &reader{named: c.Args().Slice(), before: map[string]reading{}}
			show := func(ctx context.Context, inv *invocation.Invocation) error { return r.print(ctx, c, inv) }
			if c.Bool("once") || !inv.Screen.Terminal || inv.Output == invocation.JSON || c.String("format") != "" {
				if _, err := r.read(c.Context, inv); err != nil {
					return err
				}
				if err := inv.Sleep(c.Context, betweenReadings); err != nil {
					return err
				}
				return show(c.Context, inv)
			}
			return inv.Watch(c.Context, show)
		},
	}
}

func (r *reader) print(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	all, err := r.read(ctx, inv)
	if err != nil {
		return err
	}
	for _, name := range r.named {
		if !slices.ContainsFunc(all, func(u containerUse) bool { return strings.HasPrefix(u.Task, name) }) {
			return exit.Usagef("no container of a task %q runs, or none that this key sees: `pinion ps` lists tasks", name)
		}
	}
	items, err := listing.Items(all)
	if err != nil {
		return err
	}
	return listing.List[containerUse]{Items: items, Table: tableOf}.Print(c, inv)
}
