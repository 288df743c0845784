package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func hostsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "hosts",
		Usage: "list hosts and what they have left",
		Description: `CPU (cores), MEMORY and GPUS are what is free of what there is. ROLE is what the host does for the pool's state: one server
leads, agents hold none of it. HEALTH is LOST while a host is not heard of, SICK when a GPU is. Hosts of the same name have the
first digits of their ids behind it, which name one of them in every command. SIM marks GPUs that are simulated.

Examples:
   pinion hosts
   pinion hosts -o wide       # with whole ids, addresses and problems
   pinion hosts rm gpu-2
   pinion hosts -o json`,
		Subcommands: []*cli.Command{hostRemoveCommand(p), hostPromoteCommand(p), hostDemoteCommand(p)},
		Action: func(c *cli.Context) error {
			d, err := p.openDesk(c)
			if err != nil {
				return err
			}
			if d.output == outputJSON {
				return d.printDocument(c.Context, "/v1/hosts")
			}
			hosts, err := d.host.Hosts(c.Context)
			if err != nil {
				return err
			}
			return d.hostTable(hosts).write(d.out, d.columns())
		},
	}
}

// printDocument shows a document of the plain door as it is.
func (d *desk) printDocument(ctx context.Context, path string) error {
	var document json.RawMessage
	if err := d.host.Get(ctx, path, nil, &document); err != nil {
		return err
	}
	return printJSON(d.out, document)
}

func (d *desk) hostTable(hosts []client.Host) *table {
	t := &table{header: []string{"NAME", "ID", "CLUSTER", "ROLE", "STATUS", "HEALTH", "CPU", "MEMORY", "GPUS", "TASKS", "VERSION"},
		spare: []string{"ID", "VERSION", "CLUSTER"}}
	if d.output == outputWide {
		t.header = append(t.header, "ADDRESS", "DRIVER", "CUDA", "PROBLEM")
	}
	names := namesOf(hosts)
	for _, h := range hosts {
		id, problems := short(h.ID), gpuProblems(h)
		if d.output == outputWide {
			id = h.ID
		}
		row := []string{names[h.ID], id, h.Cluster, cmp.Or(h.Role, "-"), string(h.Status), hostHealth(h, problems),
			cores(h.Free.CPU) + "/" + cores(h.CPU),
			freeMemory(h),
			gpuCount(h), strconv.Itoa(h.Tasks), h.Version}
		if d.output == outputWide {
			row = append(row, h.Address, h.GPUs.Driver, h.GPUs.CUDA, strings.Join(problems, "; "))
		}
		t.add(row...)
	}
	return t
}

func hostHealth(h client.Host, problems []string) string {
	switch {
	case !h.Connected:
		return "LOST"
	case len(problems) > 0:
		return "SICK"
	}
	return "OK"
}

// gpuProblems tells what is wrong with a host's GPUs.
func gpuProblems(h client.Host) []string {
	var problems []string
	if h.GPUs.Problem != "" {
		problems = append(problems, h.GPUs.Problem)
	}
	for _, device := range h.GPUs.Devices {
		if device.Problem != "" {
			problems = append(problems, fmt.Sprintf("GPU %d: %s", device.Index, device.Problem))
		}
	}
	return problems
}

// freeMemory is "62/64 GiB", or "512 MiB/64 GiB".
func freeMemory(h client.Host) string {
	free, all := mebibytes(h.Free.MemoryMiB), mebibytes(h.MemoryMiB)
	_, unit, _ := strings.Cut(all, " ")
	return strings.TrimSuffix(free, " "+unit) + "/" + all
}

func gpuCount(h client.Host) string {
	if len(h.GPUs.Devices) == 0 {
		return "-"
	}
	text := fmt.Sprintf("%d/%d", len(h.Free.GPUs), len(h.GPUs.Devices))
	if h.GPUs.Simulated {
		text += " SIM"
	}
	return text
}
