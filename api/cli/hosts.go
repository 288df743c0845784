package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

func hostsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name: "host", Aliases: []string{"hosts"},
		Usage: "List hosts and their free capacity; drain and remove them",
		Description: `CPU (cores), MEMORY and GPUS show free/total. ROLE is leader or server for hosts that hold the pool's state, agent for the
others. HEALTH is LOST while the host's heartbeats are missing, SICK when a GPU is unhealthy, CLOCK when its clock differs from
the leader's by 5 s or more. Hosts with the same name are shown with the first digits of their ids, which every command accepts.
SIM marks simulated GPUs.

Examples:
   pinion hosts
   pinion hosts -o wide       # with full ids, addresses and problems
   pinion host drain gpu-2
   pinion host rm gpu-2`,
		Subcommands: []*cli.Command{hostsListCommand(p), drainCommand(p), activateCommand(p), hostRemoveCommand(p), hostPromoteCommand(p), hostDemoteCommand(p)},
		Flags:       []cli.Flag{invocation.QuietFlag(), invocation.WatchFlag()},
		Action:      p.listHosts,
	}
}

func hostsListCommand(p Program) *cli.Command {
	return listVerb(&cli.Command{
		Usage: "List hosts and their free capacity",
		Description: `What the columns say is in 'pinion host --help'.

Examples:
   pinion host ls
   pinion host ls -o wide`,
		Flags:  []cli.Flag{invocation.QuietFlag(), invocation.WatchFlag()},
		Action: p.listHosts,
	})
}

func (p Program) listHosts(c *cli.Context) error {
	inv, err := p.system.Invoke(c)
	if err != nil {
		return err
	}
	return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
		return printHosts(ctx, inv, c.Bool("quiet"))
	})
}

func printHosts(ctx context.Context, inv *invocation.Invocation, quiet bool) error {
	if inv.Output == invocation.JSON && !quiet {
		return inv.PrintDocument(ctx, "/v1/hosts")
	}
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return err
	}
	if quiet {
		ids := make([]string, len(hosts))
		for i, h := range hosts {
			ids[i] = h.ID
		}
		return inv.PrintLines(ids)
	}
	return hostTable(inv, hosts).Write(inv.Out, inv.TableWidth())
}

func hostTable(inv *invocation.Invocation, hosts []client.Host) *table.Table {
	t := &table.Table{Header: []string{"NAME", "ID", "CLUSTER", "ROLE", "STATUS", "HEALTH", "CPU", "MEMORY", "GPUS", "TASKS", "VERSION"},
		Optional: []string{"ID", "VERSION", "CLUSTER"}}
	if inv.Output == invocation.Wide {
		t.Header = append(t.Header, "ADDRESS", "DRIVER", "CUDA", "PROBLEM")
	}
	names := invocation.NamesOf(hosts)
	for _, h := range hosts {
		id, problems := format.ID(h.ID), hostProblems(h)
		if inv.Output == invocation.Wide {
			id = h.ID
		}
		row := []string{names[h.ID], id, h.Cluster, cmp.Or(h.Role, "-"), string(h.Status), hostHealth(h),
			format.Cores(h.Free.CPU) + "/" + format.Cores(h.CPU),
			freeMemory(h),
			gpuCount(h), strconv.Itoa(h.Tasks), h.Version}
		if inv.Output == invocation.Wide {
			row = append(row, h.Address, h.GPUs.Driver, h.GPUs.CUDA, strings.Join(problems, "; "))
		}
		t.Add(row...)
	}
	return t
}

func hostHealth(h client.Host) string {
	switch {
	case !h.Connected:
		return "LOST"
	case len(gpuProblems(h)) > 0:
		return "SICK"
	case h.ClockMS != 0:
		return "CLOCK"
	}
	return "OK"
}

// hostProblems are the problems of a host's GPUs and of its clock.
func hostProblems(h client.Host) []string {
	problems := gpuProblems(h)
	switch offset := (time.Duration(h.ClockMS) * time.Millisecond).Round(time.Second); {
	case offset > 0:
		problems = append(problems, fmt.Sprintf("its clock is %v ahead of the leader's", offset))
	case offset < 0:
		problems = append(problems, fmt.Sprintf("its clock is %v behind the leader's", -offset))
	}
	return problems
}

// gpuProblems are the problems of a host's GPUs.
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
	free, all := format.MiB(h.Free.MemoryMiB), format.MiB(h.MemoryMiB)
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
