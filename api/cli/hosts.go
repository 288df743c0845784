package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/maintain"
	"pinion/api/cli/table"
	"pinion/api/client"
)

func hostsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name: "host", Aliases: []string{"hosts"},
		Usage: "List hosts and their free capacity; drain and remove them",
		Description: `FREE CPU (cores), FREE MEMORY and FREE GPUS show free/total; nothing of a host that is LOST or UNKNOWN is free. STATUS is DRAINED when a draining
host has no task left; STOPS TASKS is when it stops those that are left ('pinion drain --stop'), if it does. ROLE is leader or server for hosts that hold the pool's state, agent for the
others. VIRTUAL IPS are the
addresses that a host has for the pool, and in parentheses those that it would take over. HEALTH is UNKNOWN while the host's heartbeats are missing, LOST when it was given up and its tasks are STOPPED, SICK when a GPU is unhealthy, CLOCK when its clock differs from
the leader's by 5 s or more, LISTENER when a load balancer's listener does not serve there, VIRTUAL-IP when it cannot take one that it offers. Hosts with the same name are shown with the first digits of their ids, which every command accepts.
SIM marks simulated GPUs.

Examples:
   pinion hosts
   pinion hosts --cluster lab --filter health!=OK
   pinion hosts --format '{{.name}} {{len .free.gpus}}'
   pinion hosts -o wide       # with full ids, addresses and problems
   pinion host drain gpu-2
   pinion host maintain gpu-2 # for an upgrade of the driver
   pinion host rm gpu-2`,
		Subcommands: []*cli.Command{hostsListCommand(p), drainCommand(p), activateCommand(p), maintain.Command(p.system), hostRemoveCommand(p), hostPromoteCommand(p), hostDemoteCommand(p)},
		Flags:       hostListFlags(),
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
		Flags:  hostListFlags(),
		Action: p.listHosts,
	})
}

func hostListFlags() []cli.Flag {
	return append(listing.Flags(), invocation.QuietFlag(), invocation.WatchFlag(),
		&cli.StringFlag{Name: "cluster", Usage: "only hosts of the cluster `NAME`", DefaultText: "all"})
}

func (p Program) listHosts(c *cli.Context) error {
	inv, err := p.system.Invoke(c)
	if err != nil {
		return err
	}
	return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
		return printHosts(ctx, c, inv)
	})
}

func printHosts(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	var hosts []listing.Item[client.Host]
	query := url.Values{}
	if cluster := c.String("cluster"); cluster != "" {
		query.Set("cluster", cluster)
	}
	if err := inv.Client.Get(ctx, "/v1/hosts", query, &hosts); err != nil {
		return err
	}
	if len(hosts) == 0 && query.Has("cluster") {
		if err := inv.RequireCluster(ctx, query.Get("cluster")); err != nil {
			return err
		}
	}
	slices.SortStableFunc(hosts, func(a, b listing.Item[client.Host]) int { return format.CompareNames(a.Value.Name, b.Value.Name) })
	return listing.List[client.Host]{Items: hosts, Members: rareHostMembers, ID: func(h client.Host) string { return h.ID }, Table: func(hosts []client.Host) (*table.Table, error) {
		return hostTable(inv, hosts), nil
	}}.Print(c, inv)
}

// rareHostMembers are the members of a host's JSON that this command does not use.
var rareHostMembers = []string{"allow", "buckets", "custom", "devices", "featureLevel", "fileSystems", "healthAt", "logDestinations", "server", "tags", "volumes"}

func hostTable(inv *invocation.Invocation, hosts []client.Host) *table.Table {
	wide := inv.Output == invocation.Wide
	t := &table.Table{Header: []string{"NAME", "ID", "CLUSTER", "ROLE", "STATUS", "HEALTH", "FREE CPU", "FREE MEMORY", "FREE GPUS", "TASKS", "VERSION"},
		Optional: []string{"VERSION", "ID", "CLUSTER", "FREE CPU", "FREE MEMORY"}, Empty: "no host has joined", Footer: hostSummary(hosts)}
	stops := wide || slices.ContainsFunc(hosts, func(h client.Host) bool { return !h.StopTasksAt.IsZero() })
	if stops {
		t.Header = append(t.Header, "STOPS TASKS")
	}
	virtual := slices.ContainsFunc(hosts, func(h client.Host) bool { return len(h.VirtualIPs) > 0 })
	if virtual {
		t.Header = append(t.Header, "VIRTUAL IPS")
	}
	if wide {
		t.Header = append(t.Header, "ADDRESS", "DRIVER", "CUDA", "PROBLEM")
	}
	names := invocation.NamesOf(hosts)
	for _, h := range hosts {
		id := format.ID(h.ID)
		if wide {
			id = h.ID
		}
		row := []string{names[h.ID], id, h.Cluster, cmp.Or(h.Role, "-"), hostStatus(h), hostHealth(h),
			free(h, format.Cores(h.Free.CPU)) + "/" + format.Cores(h.CPU), freeMemory(h), gpuCount(h), strconv.Itoa(h.Tasks), h.Version}
		if stops {
			row = append(row, stopsTasks(inv, h))
		}
		if virtual {
			row = append(row, virtualIPs(h))
		}
		if wide {
			row = append(row, h.Address, h.GPUs.Driver, h.GPUs.CUDA, strings.Join(hostProblems(h), "; "))
		}
		t.Add(row...)
	}
	return t
}

// hostSummary is "3 hosts, 1 LOST; 14 of 24 GPUs free". What a host that cannot be reached or gets no tasks has is not free.
func hostSummary(hosts []client.Host) string {
	unreachable, freeGPUs, gpus := map[string]int{}, 0, 0
	for _, h := range hosts {
		gpus += len(h.GPUs.Devices)
		switch {
		case format.Unreachable(h) != "":
			unreachable[format.Unreachable(h)]++
		case h.Status == client.Active:
			freeGPUs += len(h.Free.GPUs)
		}
	}
	text := format.Plural(len(hosts), "host")
	for _, how := range []string{format.Lost, format.Unknown} {
		if n := unreachable[how]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, how)
		}
	}
	return text + fmt.Sprintf("; %d of %s free", freeGPUs, format.Plural(gpus, "GPU"))
}

// hostStatus is the status of a host; DRAINING is DRAINED when no task is left.
func hostStatus(h client.Host) string {
	if h.Status == client.Draining && h.Tasks == 0 {
		return "DRAINED"
	}
	return h.Status
}

// stopsTasks is when a draining host stops its tasks: "in 25m" until then.
func stopsTasks(inv *invocation.Invocation, h client.Host) string {
	switch left := h.StopTasksAt.Sub(inv.Now()); {
	case h.StopTasksAt.IsZero():
		return "-"
	case left <= 0:
		return "now"
	default:
		return "in " + format.Age(left)
	}
}

// virtualIPs are "10.0.0.100, (10.0.0.101)": the first is here.
func virtualIPs(h client.Host) string {
	var all []string
	for _, v := range h.VirtualIPs {
		if v.Held {
			all = append(all, v.IP)
		} else {
			all = append(all, "("+v.IP+")")
		}
	}
	return cmp.Or(strings.Join(all, ", "), "-")
}

// free is the free amount of something, which nobody can get of a host that cannot be reached.
func free(h client.Host, amount string) string {
	if format.Unreachable(h) != "" {
		return "-"
	}
	return amount
}

func hostHealth(h client.Host) string {
	switch {
	case format.Unreachable(h) != "":
		return format.Unreachable(h)
	case len(gpuProblems(h)) > 0:
		return "SICK"
	case h.ClockMS != 0:
		return "CLOCK"
	case len(h.ListenerProblems) > 0:
		return "LISTENER"
	case slices.ContainsFunc(h.VirtualIPs, func(v client.VirtualIP) bool { return v.Problem != "" }):
		return "VIRTUAL-IP"
	}
	return "OK"
}

// hostProblems are the problems of a host's GPUs, of its clock, of its listeners and of its virtual IPs.
func hostProblems(h client.Host) []string {
	problems := gpuProblems(h)
	switch offset := (time.Duration(h.ClockMS) * time.Millisecond).Round(time.Second); {
	case offset > 0:
		problems = append(problems, fmt.Sprintf("its clock is %v ahead of the leader's", offset))
	case offset < 0:
		problems = append(problems, fmt.Sprintf("its clock is %v behind the leader's", -offset))
	}
	for _, l := range h.ListenerProblems {
		problems = append(problems, fmt.Sprintf("the listener of port %d does not serve: %s", l.Port, l.Problem))
	}
	for _, v := range h.VirtualIPs {
		if v.Problem != "" {
			problems = append(problems, fmt.Sprintf("the virtual IP %s: %s", v.IP, v.Problem))
		}
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
			problems = append(problems, fmt.Sprintf("GPU %s: %s", device.Number(), device.Problem))
		}
	}
	return problems
}

// freeMemory is "62/64 GiB", or "512 MiB/64 GiB".
func freeMemory(h client.Host) string {
	left, all := format.MiB(h.Free.MemoryMiB), format.MiB(h.MemoryMiB)
	_, unit, _ := strings.Cut(all, " ")
	return free(h, strings.TrimSuffix(left, " "+unit)) + "/" + all
}

func gpuCount(h client.Host) string {
	if len(h.GPUs.Devices) == 0 {
		return "-"
	}
	text := fmt.Sprintf("%s/%d", free(h, strconv.Itoa(len(h.Free.GPUs))), len(h.GPUs.Devices))
	if h.GPUs.Simulated {
		text += " SIM"
	}
	return text
}
