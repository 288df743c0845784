package cli

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

func gpusCommand(p Program) *cli.Command {
	command := gpusListCommand(p)
	command.Name, command.Aliases = "gpu", []string{"gpus"}
	command.Subcommands = []*cli.Command{listVerb(gpusListCommand(p))}
	return command
}

func gpusListCommand(p Program) *cli.Command {
	return &cli.Command{
		Usage: "List GPUs and the tasks that hold them",
		Description: `With --container, inside a container, it prints what that container sees: device nodes, environment, and NVML if present.

Examples:
   pinion gpus
   pinion gpus -o wide        # with GPU ids, PCI addresses and problems
   pinion run --gpus 2 pinion/self -- pinion gpus --container`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "container", Usage: "show the GPUs that this container sees"},
			invocation.WatchFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.Bool("container") {
				return p.printContainerGPUs(c)
			}
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			return inv.List(c, printGPUs)
		},
	}
}

func (p Program) printContainerGPUs(c *cli.Context) error {
	output, err := invocation.OutputFormat(c)
	if err != nil {
		return err
	}
	if p.ContainerGPUs == nil {
		return errors.New("this build of pinion cannot inspect the GPUs of a container")
	}
	return p.ContainerGPUs(c.App.Writer, output == invocation.JSON)
}

func printGPUs(ctx context.Context, inv *invocation.Invocation) error {
	if inv.Output == invocation.JSON {
		return inv.PrintDocument(ctx, "/v1/gpus")
	}
	gpus, err := inv.Client.GPUs(ctx)
	if err != nil {
		return err
	}
	warnSimulated(inv, gpus)
	return gpuTable(inv, gpus).Write(inv.Out, inv.TableWidth())
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
	t := &table.Table{Header: []string{"HOST", "IDX", "MODEL", "MEMORY", "NUMA", "HEALTH", "TASK"}, Optional: []string{"NUMA", "MEMORY"}}
	if inv.Output == invocation.Wide {
		t.Header = append(t.Header, "CONTAINER", "UUID", "PCI", "PROBLEM")
	}
	names := invocation.GPUHosts(gpus)
	for _, g := range gpus {
		task := format.ID(g.Task)
		if inv.Output == invocation.Wide {
			task = g.Task
		}
		row := []string{names[g.HostID], strconv.Itoa(g.Index), gpuModel(g), gpuMemory(g), numaNode(g), g.Health, cmp.Or(task, "-")}
		if inv.Output == invocation.Wide {
			row = append(row, cmp.Or(g.Container, "-"), g.UUID, g.PCI, g.Problem)
		}
		t.Add(row...)
	}
	return t
}

func gpuModel(g client.GPU) string {
	if g.Simulated {
		return "SIMULATED " + g.Model
	}
	return g.Model
}

// gpuMemory is "-" for a GPU without memory of its own (unified memory).
func gpuMemory(g client.GPU) string {
	if g.MemoryMiB == 0 {
		return "-"
	}
	return format.MiB(g.MemoryMiB)
}

func numaNode(g client.GPU) string {
	if g.NUMANode < 0 {
		return "-"
	}
	return strconv.Itoa(g.NUMANode)
}
