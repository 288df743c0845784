package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
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

func queueCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "queue",
		Usage: "List pending tasks in queue order",
		Description: `Order: tasks of teams within their quota first, then the highest priority, then the team with the fewest recent GPU-hours per
weight, then the oldest. TASK is its definition, with its index in an array in brackets. A gang is one line. POS, the position, is - while a dependency, a retry delay or 'pinion task hold' keeps a task back, and
for a task that no host could ever run ("impossible" with -o json). GPUS, CPU and MEMORY are what it asks for, of GPUS a number, alternatives or memory of a shared one, 8x2 what each of 8 tasks of a gang does.
On a narrow terminal, less important columns are left out; -o wide has all.

Examples:
   pinion queue
   pinion queue --filter team=vision
   pinion queue --mine
   pinion queue --cluster lab -o wide      # with full ids and all columns
   pinion queue -o json`,
		Flags: append(listing.Flags(), invocation.OwnTasksFlag("list"), invocation.QuietFlag(), invocation.WatchFlag(), invocation.ClusterFlag()),
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
				return printQueue(ctx, c, inv)
			})
		},
	}
}

func printQueue(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	cluster := c.String("cluster")
	var items []listing.Item[client.QueueItem]
	if err := inv.Client.Get(ctx, "/v1/queue", url.Values{"cluster": {cluster}}, &items); err != nil {
		return err
	}
	if len(items) == 0 && cluster != "default" {
		if err := inv.RequireCluster(ctx, cluster); err != nil {
			return err
		}
	}
	if c.Bool("mine") {
		owner, err := inv.Owner(ctx)
		if err != nil {
			return err
		}
		items = slices.DeleteFunc(items, func(i listing.Item[client.QueueItem]) bool { return i.Value.Key != owner })
	}
	return listing.List[client.QueueItem]{Items: items, Fields: map[string]func(client.QueueItem) []string{
		"key": func(q client.QueueItem) []string { return []string{cmp.Or(q.Key, format.Root)} },
	}, ID: func(q client.QueueItem) string { return q.TaskID }, Table: func(queue []client.QueueItem) (*table.Table, error) {
		t := queueTable(inv, queue)
		t.Empty = "nothing waits in cluster " + cluster
		return t, nil
	}}.Print(c, inv)
}

func queueTable(inv *invocation.Invocation, list []client.QueueItem) *table.Table {
	wide := inv.Output == invocation.Wide
	t := &table.Table{Header: []string{"POS", "ID", "TASK", "TEAM", "PRIORITY", "GPUS", "CPU", "MEMORY", "AGE", "WAITING FOR"},
		Optional: []string{"CPU", "MEMORY", "AGE", "PRIORITY", "TEAM", "TASK"}, Text: 32}
	if wide {
		t.Header[2] = "GROUP"
	}
	for _, q := range list {
		position, id, name, reason := "-", q.TaskID, q.Group, inv.LocalTimes(format.Options(q.WaitReason))
		if q.Position > 0 && q.Infeasible == nil {
			position = strconv.Itoa(q.Position)
		}
		if !wide {
			id, name, reason = format.ID(id), queuedName(q), format.ShortIDs(reason)
		}
		t.Add(position, id, name, cmp.Or(q.Team, "-"), strconv.Itoa(q.Priority), ofEach(q, cmp.Or(q.GPUChoices, format.GPUs(q.GPUs, q.GPUMiB))), ofEach(q, format.Cores(q.CPU)), ofEach(q, format.MiB(q.MemoryMiB)),
			format.Age(inv.Now().Sub(q.Since)), reason)
	}
	return t
}

// queuedName is what waits, as `pinion ps` names it; of a host of an older version the group.
func queuedName(q client.QueueItem) string {
	switch {
	case q.Definition == "":
		return strings.TrimPrefix(q.Group, "family:")
	case q.Index != "":
		return q.Definition + "[" + q.Index + "]"
	}
	return q.Definition
}

// ofEach is what a task asks for, or "8x1" what each of the tasks of a gang does.
func ofEach(q client.QueueItem, amount string) string {
	if q.Tasks > 1 {
		if strings.Contains(amount, "/") { // alternatives for each
			amount = "(" + amount + ")"
		}
		return fmt.Sprintf("%dx%s", q.Tasks, amount)
	}
	return amount
}
