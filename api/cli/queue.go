package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

func queueCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "queue",
		Usage: "List pending tasks in queue order",
		Description: `Order: tasks of teams within their quota first, then the highest priority, then the team with the fewest recent GPU-hours per
weight, then the oldest. A gang is one line. POS, the position, is - while a dependency or a retry delay holds a task back, and for a
task that no host could ever run ("impossible" with -o json).
On a narrow terminal, less important columns are left out; -o wide has all.

Examples:
   pinion queue
   pinion queue --cluster lab -o wide      # with full ids and all columns
   pinion queue -o json`,
		Flags: []cli.Flag{invocation.QuietFlag(), invocation.WatchFlag(), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
				return printQueue(ctx, inv, c.String("cluster"), c.Bool("quiet"))
			})
		},
	}
}

func printQueue(ctx context.Context, inv *invocation.Invocation, cluster string, quiet bool) error {
	list, err := inv.Client.Queue(ctx, cluster)
	if err != nil {
		return err
	}
	if quiet {
		ids := make([]string, len(list))
		for i, q := range list {
			ids[i] = q.TaskID
		}
		return inv.PrintLines(ids)
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(append([]client.QueueItem{}, list...))
	}
	if len(list) == 0 {
		inv.Notef("nothing waits in cluster %s", cluster)
	}
	return queueTable(inv, list).Write(inv.Out, inv.TableWidth())
}

func queueTable(inv *invocation.Invocation, list []client.QueueItem) *table.Table {
	t := &table.Table{Header: []string{"POS", "ID", "GROUP", "TEAM", "PRIORITY", "REQUEST", "SINCE", "WAITING FOR"},
		Optional: []string{"TEAM", "PRIORITY", "GROUP", "SINCE"}}
	for _, q := range list {
		position, id := "-", q.TaskID
		if q.Position > 0 && q.Infeasible == nil {
			position = strconv.Itoa(q.Position)
		}
		if inv.Output != invocation.Wide {
			id = format.ID(id)
		}
		t.Add(position, id, q.Group, cmp.Or(q.Team, "-"), strconv.Itoa(q.Priority), requestText(q), format.Age(inv.Now().Sub(q.Since)), q.WaitReason)
	}
	return t
}

// requestText is what a task requests, GPUs first.
func requestText(q client.QueueItem) string {
	text := fmt.Sprintf("%s CPU, %s", format.Cores(q.CPU), format.MiB(q.MemoryMiB))
	if q.GPUs > 0 {
		text = fmt.Sprintf("%s, %s", format.Plural(q.GPUs, "GPU"), text)
	}
	if q.Tasks > 1 {
		text = fmt.Sprintf("%d x (%s)", q.Tasks, text)
	}
	return text
}
