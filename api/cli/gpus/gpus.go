// Package gpus is `pinion gpu`: it lists the GPUs of a pool, checks them, and keeps them from tasks.
package gpus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// Inspector prints what the container that this process runs in sees of GPUs, as text or as JSON. Nil: this program cannot.
type Inspector func(out io.Writer, json bool) error

// Command is the command `pinion gpu`.
func Command(system invocation.System, inspect Inspector) *cli.Command {
	command, list := listCommand(system, inspect), listCommand(system, inspect)
	command.Name, command.Aliases = "gpu", []string{"gpus"}
	list.Name, list.Aliases = "ls", []string{"list"}
	command.Subcommands = []*cli.Command{list, quarantineCommand(system), releaseCommand(system), checkCommand(system), resetCommand(system), forgetCommand(system)}
	return command
}

func listCommand(system invocation.System, inspect Inspector) *cli.Command {
	return &cli.Command{
		Usage: "List GPUs and the tasks that hold them",
		Description: `A GPU that tasks share has a row for each share, with its memory.
With --container, inside a container, it prints what that container sees: device nodes, environment, and NVML if present.

Examples:
   pinion gpus
   pinion gpus --filter team=vision
   pinion gpus -o wide        # with GPU ids, PCI addresses and problems
   pinion gpus quarantine gpu-2/3 --reason "ECC errors"
   pinion run --gpus 2 pinion/self -- pinion gpus --container`,
		Flags: append(listing.Flags(),
			&cli.BoolFlag{Name: "container", Usage: "show the GPUs that this container sees"},
			invocation.QuietFlag(), invocation.WatchFlag(),
		),
		Action: func(c *cli.Context) error {
			if c.Bool("container") {
				return inspect.print(c)
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error { return printGPUs(ctx, c, inv) })
		},
	}
}

func (inspect Inspector) print(c *cli.Context) error {
	output, err := invocation.OutputFormat(c)
	if err != nil {
		return err
	}
	if inspect == nil {
		return errors.New("this build of pinion cannot inspect the GPUs of a container")
	}
	return inspect(c.App.Writer, output == invocation.JSON)
}

func printGPUs(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	var gpus []listing.Item[client.GPU]
	if err := inv.Client.Get(ctx, "/v1/gpus", nil, &gpus); err != nil {
		return err
	}
	slices.SortStableFunc(gpus, func(a, b listing.Item[client.GPU]) int {
		return cmp.Or(format.CompareNames(a.Value.Host, b.Value.Host), strings.Compare(a.Value.HostID, b.Value.HostID), a.Value.Index-b.Value.Index, a.Value.MIGIndex()-b.Value.MIGIndex())
	})
	list := listing.List[client.GPU]{Items: gpus, ID: func(g client.GPU) string { return g.UUID }, Table: func(gpus []client.GPU) (*table.Table, error) {
		return gpuTable(inv, gpus), nil
	}}
	if inv.Output != invocation.JSON {
		warnSimulated(inv, list.Values())
	}
	return list.Print(c, inv)
}

// warnSimulated warns about simulated GPUs.
func warnSimulated(inv *invocation.Invocation, gpus []client.GPU) {
	simulated := 0
	for _, g := range gpus {
		if g.Simulated {
			simulated++
		}
	}
	if simulated > 0 {
		inv.Notef("SIMULATED: %s of %d here are not real hardware (pinion up --gpus sim:...)", format.Plural(simulated, "GPU"), len(gpus))
	}
}

func gpuTable(inv *invocation.Invocation, gpus []client.GPU) *table.Table {
	wide := inv.Output == invocation.Wide
	t := &table.Table{Header: []string{"HOST", "IDX", "MODEL", "MEMORY", "NUMA", "HEALTH", "TASK ID", "TASK", "TEAM"},
		Optional: []string{"NUMA", "MEMORY", "MODEL"}, Empty: "no host has GPUs", Footer: gpuSummary(gpus)}
	if wide {
		t.Header = append(t.Header, "CONTAINER", "UUID", "PCI", "PROBLEM")
	}
	names := invocation.GPUHosts(gpus)
	for _, g := range gpus {
		for _, holder := range g.Holders() {
			task := format.ID(holder.Task)
			if wide {
				task = holder.Task
			}
			row := []string{names[g.HostID], g.Number(), format.GPUModel(g.Model, g.Profile(), g.Simulated), gpuMemory(g, holder), numaNode(g), gpuHealth(g), cmp.Or(task, "-"), cmp.Or(holder.Definition, "-"), cmp.Or(holder.Team, "-")}
			if wide {
				row = append(row, cmp.Or(holder.Container, "-"), g.UUID, g.PCI, g.Problem)
			}
			t.Add(row...)
		}
	}
	return t
}

// gpuSummary is "24 GPUs: 16 in use, 7 free, 1 not healthy".
func gpuSummary(gpus []client.GPU) string {
	used, free := 0, 0
	for i := range gpus {
		switch {
		case gpus[i].Task != "" || len(gpus[i].Shares) > 0:
			used++
		case gpus[i].Free():
			free++
		}
	}
	text := fmt.Sprintf("%s: %d in use, %d free", format.Plural(len(gpus), "GPU"), used, free)
	if sick := len(gpus) - used - free; sick > 0 {
		text += fmt.Sprintf(", %d not healthy", sick)
	}
	return text
}

// gpuMemory is "-" for a GPU without memory of its own (unified memory), and "10/79.6 GiB" for a share of it.
func gpuMemory(g client.GPU, holder client.GPUShare) string {
	switch {
	case g.MemoryMiB == 0:
		return "-"
	case holder.MemoryMiB < g.MemoryMiB:
		return strings.TrimSuffix(format.MiB(holder.MemoryMiB), " GiB") + "/" + format.MiB(g.MemoryMiB)
	}
	return format.MiB(g.MemoryMiB)
}

// gpuHealth is the health of a GPU, or that it is being partitioned.
func gpuHealth(g client.GPU) string {
	if g.Partition != "" && g.Health == client.Healthy {
		return "PARTITIONING"
	}
	return g.Health
}

func numaNode(g client.GPU) string {
	if g.NUMANode < 0 {
		return "-"
	}
	return strconv.Itoa(g.NUMANode)
}
