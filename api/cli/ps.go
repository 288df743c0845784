package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/past"
	"pinion/api/cli/table"
	"pinion/api/client"
)

func psCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ps",
		Usage: "List tasks",
		Description: `Lists the tasks of a cluster that have not stopped, the newest first; with -a also tasks that stopped within the last hour.
With --since, --until, --state, --team, --family or --key: the tasks that ended, the last one first, as far back as the hosts keep them.
INDEX is the index of a task in its array, RANK its rank in a gang; the columns are shown when a task has one. STATUS is UNKNOWN
while the heartbeats of the task's host are missing; the task may run on there.

Examples:
   pinion ps
   pinion ps -a --watch
   pinion ps -q | xargs pinion inspect
   pinion ps --since 2d --state failed
   pinion ps -o wide          # with full ids, groups and GPU ids
   pinion ps -o json          # all fields, as in DescribeTasks`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "include stopped tasks"},
			invocation.QuietFlag(), invocation.WatchFlag(), invocation.ClusterFlag(),
		}, past.Flags()...),
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			if past.Asked(c) {
				return past.List(c, inv)
			}
			return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
				return listTasks(ctx, inv, c.String("cluster"), c.Bool("all"), c.Bool("quiet"))
			})
		},
	}
}

func listTasks(ctx context.Context, inv *invocation.Invocation, cluster string, all, quiet bool) error {
	ids, err := inv.Client.TaskIDs(ctx, cluster)
	if err != nil {
		return err
	}
	tasks, _, err := inv.Client.DescribeTasks(ctx, cluster, ids) // a task that was removed in between is left out
	if err != nil {
		return err
	}
	if !all {
		tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() })
	}
	slices.SortStableFunc(tasks, func(a, b client.Task) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt.Time), format.CompareIndex(a, b), strings.Compare(a.ARN, b.ARN))
	})
	if quiet {
		return inv.PrintLines(client.TaskIDs(tasks))
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(append([]client.Task{}, tasks...)) // none is [], not null
	}
	switch {
	case len(tasks) == 0 && all:
		inv.Notef("no tasks in cluster %s", cluster)
	case len(tasks) == 0:
		inv.Notef("no tasks in cluster %s; -a shows those that have ended too", cluster)
	}
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return err
	}
	return taskTable(inv, tasks, hosts).Write(inv.Out, inv.TableWidth())
}

// unknownStatus is the status that people see of a task on a host whose heartbeats are missing: what the host said last may be over.
const unknownStatus = "UNKNOWN"

// shownStatus is the status of a task, on a host or waiting for one.
func shownStatus(task client.Task, hosts []client.Host) string {
	on := slices.IndexFunc(hosts, func(h client.Host) bool { return h.ID == client.ResourceID(task.Instance) })
	if on >= 0 && !hosts[on].Connected && !task.Stopped() {
		return unknownStatus
	}
	return task.Status
}

func taskTable(inv *invocation.Invocation, tasks []client.Task, hosts []client.Host) *table.Table {
	names := invocation.NamesOf(hosts)
	t := &table.Table{Header: []string{"ID", "TASK"}, Optional: []string{"AGE", "HOST"}}
	if inv.Output == invocation.Wide {
		t.Header = append(t.Header, "GROUP")
	}
	var attributes []string // attributes
	for _, n := range format.IndexColumns {
		if slices.ContainsFunc(tasks, func(t client.Task) bool { return t.Attribute(n.Attribute) != "" }) {
			t.Header, attributes = append(t.Header, n.Column), append(attributes, n.Attribute)
		}
	}
	t.Header = append(t.Header, "STATUS", "GPUS", "HOST", "AGE", "EXIT/REASON")
	for _, task := range tasks {
		row := []string{format.ID(task.ID()), client.ResourceID(task.Definition)}
		gpus := strconv.Itoa(len(task.GPUs()))
		if inv.Output == invocation.Wide {
			row = []string{task.ID(), client.ResourceID(task.Definition), cmp.Or(task.Group, "-")}
			gpus = cmp.Or(strings.Join(task.GPUs(), ","), "-")
		}
		for _, attribute := range attributes {
			row = append(row, cmp.Or(task.Attribute(attribute), "-"))
		}
		t.Add(append(row, shownStatus(task, hosts), gpus, names[client.ResourceID(task.Instance)], format.Age(inv.Now().Sub(task.CreatedAt.Time)), format.ExitSummary(task))...)
	}
	return t
}
