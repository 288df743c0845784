package cli

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func gpusCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "gpus",
		Usage: "list GPUs and the tasks that own them",
		Description: `With --container, run inside a container, it prints what that container really sees: device nodes, environment, and NVML
if it is there.

Examples:
   pinion gpus
   pinion gpus -o wide        # with GPU ids, PCI addresses and problems
   pinion run --gpus 2 pinion/self -- pinion gpus --container`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "container", Usage: "what the container sees that this runs in"},
		},
		Action: func(c *cli.Context) error {
			if c.Bool("container") {
				return p.printContainerGPUs(c)
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			return s.printGPUs(c.Context)
		},
	}
}

func (p Program) printContainerGPUs(c *cli.Context) error {
	output, err := outputFormat(c)
	if err != nil {
		return err
	}
	if p.ContainerGPUs == nil {
		return errors.New("this build of pinion cannot look at GPUs from inside a container")
	}
	return p.ContainerGPUs(c.App.Writer, output == outputJSON)
}

func (s *session) printGPUs(ctx context.Context) error {
	if s.output == outputJSON {
		return s.printDocument(ctx, "/v1/gpus")
	}
	gpus, err := s.client.GPUs(ctx)
	if err != nil {
		return err
	}
	s.warnSimulated(gpus)
	return s.gpuTable(gpus).write(s.out, s.tableWidth())
}

// warnSimulated makes sure that nobody takes simulated GPUs for real ones.
func (s *session) warnSimulated(gpus []client.GPU) {
	simulated := 0
	for _, g := range gpus {
		if g.Simulated {
			simulated++
		}
	}
	if simulated > 0 {
		s.notef("SIMULATED: %s of %d here are not real hardware (pinion up --gpus sim:...)", plural(simulated, "GPU"), len(gpus))
	}
}

func (s *session) gpuTable(gpus []client.GPU) *table {
	t := &table{header: []string{"HOST", "IDX", "MODEL", "MEMORY", "NUMA", "HEALTH", "TASK"}, optional: []string{"NUMA", "MEMORY"}}
	if s.output == outputWide {
		t.header = append(t.header, "CONTAINER", "UUID", "PCI", "PROBLEM")
	}
	names := gpuHosts(gpus)
	for _, g := range gpus {
		task := abbreviateID(g.Task)
		if s.output == outputWide {
			task = g.Task
		}
		row := []string{names[g.HostID], strconv.Itoa(g.Index), gpuModel(g), gpuMemory(g), numaNode(g), g.Health, cmp.Or(task, "-")}
		if s.output == outputWide {
			row = append(row, cmp.Or(g.Container, "-"), g.UUID, g.PCI, g.Problem)
		}
		t.add(row...)
	}
	return t
}

// gpuHosts maps the ids of the hosts that have the GPUs to what lists call them.
func gpuHosts(gpus []client.GPU) map[string]string {
	names := map[string]string{}
	for _, g := range gpus {
		names[g.HostID] = g.Host
	}
	return disambiguate(names)
}

func gpuModel(g client.GPU) string {
	if g.Simulated {
		return "SIMULATED " + g.Model
	}
	return g.Model
}

// gpuMemory is "-" for a GPU that shares the machine's memory and has none of its own to tell.
func gpuMemory(g client.GPU) string {
	if g.MemoryMiB == 0 {
		return "-"
	}
	return formatMiB(g.MemoryMiB)
}

func numaNode(g client.GPU) string {
	if g.NUMANode < 0 {
		return "-"
	}
	return strconv.Itoa(g.NUMANode)
}
