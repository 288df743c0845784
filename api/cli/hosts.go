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
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			if s.output == outputJSON {
				return s.printDocument(c.Context, "/v1/hosts")
			}
			hosts, err := s.client.Hosts(c.Context)
			if err != nil {
				return err
			}
			return s.hostTable(hosts).write(s.out, s.tableWidth())
		},
	}
}

// printDocument shows a document of the plain door as it is.
func (s *session) printDocument(ctx context.Context, path string) error {
	var document json.RawMessage
	if err := s.client.Get(ctx, path, nil, &document); err != nil {
		return err
	}
	return printJSON(s.out, document)
}

func (s *session) hostTable(hosts []client.Host) *table {
	t := &table{header: []string{"NAME", "ID", "CLUSTER", "ROLE", "STATUS", "HEALTH", "CPU", "MEMORY", "GPUS", "TASKS", "VERSION"},
		optional: []string{"ID", "VERSION", "CLUSTER"}}
	if s.output == outputWide {
		t.header = append(t.header, "ADDRESS", "DRIVER", "CUDA", "PROBLEM")
	}
	names := namesOf(hosts)
	for _, h := range hosts {
		id, problems := abbreviateID(h.ID), gpuProblems(h)
		if s.output == outputWide {
			id = h.ID
		}
		row := []string{names[h.ID], id, h.Cluster, cmp.Or(h.Role, "-"), string(h.Status), hostHealth(h, problems),
			formatCores(h.Free.CPU) + "/" + formatCores(h.CPU),
			freeMemory(h),
			gpuCount(h), strconv.Itoa(h.Tasks), h.Version}
		if s.output == outputWide {
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
	free, all := formatMiB(h.Free.MemoryMiB), formatMiB(h.MemoryMiB)
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
