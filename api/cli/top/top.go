// Package top is the command that shows how the GPUs of the pool are used.
package top

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/client"
)

// Command is `pinion top`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "top",
		Usage:     "Show how GPUs are used: utilization, memory, power and temperature",
		ArgsUsage: "[HOST...]",
		Description: `On a terminal it is drawn again every 2 s until Ctrl-C; into a pipe, with --once or -o json it is printed once. Hosts measure every 5 s, and
RECENT is the utilization of the last minute. '-' is what the driver or the model does not measure. What is utilized 100% has computed all the time,
not with all of its cores.

Examples:
   pinion top
   pinion top gpu-1 gpu-2
   pinion top --idle              # GPUs that tasks have and have not used for a minute
   pinion top --by task           # a row for each task, the most idle first
   pinion top -o wide --once      # with clocks and the traffic of PCIe and NVLink
   pinion top --once --filter team=vision`,
		Flags: append(listing.Flags(),
			&cli.BoolFlag{Name: "once", Usage: "print it once"},
			&cli.BoolFlag{Name: "idle", Usage: "only GPUs that tasks have and have not used for a minute"},
			&cli.StringFlag{Name: "by", Value: "gpu", Usage: "a row for each `THING`: gpu or task"},
		),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if by := c.String("by"); by != "gpu" && by != "task" {
				return exit.Usagef("--by %s: it is gpu or task", by)
			}
			show := func(ctx context.Context, inv *invocation.Invocation) error { return print(ctx, c, inv) }
			if c.Bool("once") || !inv.Screen.Terminal || inv.Output == invocation.JSON || c.String("format") != "" {
				return show(c.Context, inv)
			}
			return inv.Watch(c.Context, show)
		},
	}
}

// gpuUsage is a GPU with its tasks, and how it is used.
type gpuUsage struct {
	client.GPU
	Usage *client.GPUUsage `json:"usage"` // nil: not known
}

// busyPercent is the utilization up to which a GPU counts as idle: drivers tell of 1 % where nothing but the desktop or a monitor runs.
const busyPercent = 1

// held reports whether a task has the GPU.
func (g *gpuUsage) held() bool { return g.Task != "" || len(g.Shares) > 0 }

// minuteOfSamples is how many samples a minute has at least: one every 5 s.
const minuteOfSamples = 11

// unused reports whether a task has the GPU and nobody has used it in the last minute.
func (g *gpuUsage) unused() bool {
	return g.held() && g.Usage != nil && len(g.Usage.Recent) >= minuteOfSamples && slices.Max(g.Usage.Recent) <= busyPercent
}

func print(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	gpus, err := read(ctx, c, inv)
	if err != nil {
		return err
	}
	if c.String("by") == "task" {
		items, err := listing.Items(byTask(gpus))
		if err != nil {
			return err
		}
		return listing.List[taskUsage]{Items: items, Table: taskTable}.Print(c, inv)
	}
	items := make([]listing.Item[gpuUsage], len(gpus))
	for i := range gpus {
		document, err := json.Marshal(gpus[i])
		if err != nil {
			return err
		}
		items[i] = listing.Item[gpuUsage]{Value: gpus[i], JSON: document}
	}
	return listing.List[gpuUsage]{Items: items, Table: gpuTable(inv)}.Print(c, inv)
}

// read asks for the GPUs and their usage, and notes the hosts that do not tell.
func read(ctx context.Context, c *cli.Context, inv *invocation.Invocation) ([]gpuUsage, error) {
	var gpus []client.GPU
	if err := inv.Client.Get(ctx, "/v1/gpus", nil, &gpus); err != nil {
		return nil, err
	}
	usage, err := client.GPUUsages(ctx, inv.Client)
	if err != nil {
		return nil, err
	}
	named := c.Args().Slice()
	for _, name := range named {
		if !slices.ContainsFunc(gpus, func(g client.GPU) bool { return isHost(&g, name) }) {
			return nil, exit.Usagef("no host %q has GPUs: `pinion hosts` lists them", name)
		}
	}
	wanted := func(g *client.GPU) bool {
		return len(named) == 0 || slices.ContainsFunc(named, func(name string) bool { return isHost(g, name) })
	}
	for _, host := range usage.Unknown {
		if wanted(&client.GPU{Host: host.Host, HostID: host.HostID}) {
			inv.Notef("%s: %s", host.Host, host.Problem)
		}
	}
	all := []gpuUsage{}
	for i := range gpus {
		g := gpuUsage{GPU: gpus[i]}
		if !wanted(&g.GPU) {
			continue
		}
		if at := slices.IndexFunc(usage.GPUs, func(u client.GPUUsage) bool { return u.UUID == g.UUID && u.HostID == g.HostID }); at >= 0 {
			g.Usage = &usage.GPUs[at]
		}
		if !c.Bool("idle") || g.unused() {
			all = append(all, g)
		}
	}
	slices.SortStableFunc(all, func(a, b gpuUsage) int {
		return cmp.Or(format.CompareNames(a.Host, b.Host), strings.Compare(a.HostID, b.HostID), a.Index-b.Index)
	})
	return all, nil
}

// isHost reports whether the GPU is of a host with this name, or with an id that begins so.
func isHost(g *client.GPU, name string) bool {
	return g.Host == name || len(name) >= 4 && strings.HasPrefix(g.HostID, name)
}
