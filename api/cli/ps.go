package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/past"
	"pinion/api/cli/table"
	"pinion/api/client"
)

func psCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ps",
		Usage: "List tasks",
		Description: `Lists the tasks of a cluster that have not stopped, the newest first; with -a also tasks that stopped within the last hour.
With --since, --until, --state, --team, --family, --group or --key: the tasks that ended, the last one first, as far back as the hosts keep them.
TASK is its definition, with its index in an array or its rank in a gang in brackets. GPUS is what it has, or in parentheses what it asks
for while it waits. STATUS is UNKNOWN while the heartbeats of the task's host are missing; the task may run on there.
HELD is a pending task that waits for 'pinion task release'.

Examples:
   pinion ps
   pinion ps -a --watch
   pinion ps -q | xargs pinion inspect
   pinion ps --since 2d --state failed
   pinion ps --filter host=gpu-7 --filter status!=RUNNING
   pinion ps --format 'table {{id .taskArn}}\t{{.lastStatus}}\t{{time .startedAt}}'
   pinion ps -o wide          # with full ids, groups, GPU ids and times
   pinion ps -o json          # all fields, as in DescribeTasks`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "include stopped tasks"},
			invocation.QuietFlag(), invocation.WatchFlag(), invocation.ClusterFlag(),
		}, slices.Concat(listing.Flags(), past.Flags())...),
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			if past.Asked(c) {
				return past.List(c, inv)
			}
			return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
				return listTasks(ctx, c, inv)
			})
		},
	}
}

func listTasks(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	cluster, all := c.String("cluster"), c.Bool("all")
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
	items, err := listing.Items(tasks)
	if err != nil {
		return err
	}
	draw := taskTables(ctx, inv, cluster, tasks)
	return listing.List[client.Task]{Items: items, ID: func(t client.Task) string { return t.ID() }, Table: func(shown []client.Task) (*table.Table, error) {
		t, err := draw(shown)
		if err == nil {
			if t.Empty = "no tasks in cluster " + cluster; !all {
				t.Empty += "; -a shows those that have ended too"
			}
		}
		return t, err
	}}.Print(c, inv)
}

// taskTables makes tables of tasks; what the hosts and the queue say of them is asked once, and not before it is needed.
func taskTables(ctx context.Context, inv *invocation.Invocation, cluster string, tasks []client.Task) func([]client.Task) (*table.Table, error) {
	beside := sync.OnceValues(func() (b besideTasks, err error) {
		if b.hosts, err = inv.Client.Hosts(ctx); err == nil {
			b.asked, err = askedGPUs(ctx, inv, cluster, tasks)
		}
		return b, err
	})
	return func(shown []client.Task) (*table.Table, error) {
		b, err := beside()
		if err != nil {
			return nil, err
		}
		return taskTable(inv, shown, b.hosts, b.asked), nil
	}
}

// besideTasks is what a table of tasks shows that is not in the tasks.
type besideTasks struct {
	hosts []client.Host
	asked map[string]int // GPUs, by the id of a task that waits
}

// askedGPUs is how many GPUs each task asks for that waits for a host, as the queue has it: a gang has one item there, whose number is each
// member's.
func askedGPUs(ctx context.Context, inv *invocation.Invocation, cluster string, tasks []client.Task) (map[string]int, error) {
	if !slices.ContainsFunc(tasks, waits) {
		return nil, nil
	}
	queue, err := inv.Client.Queue(ctx, cluster)
	if err != nil {
		return nil, err
	}
	asked := map[string]int{}
	for _, item := range queue {
		asked[item.TaskID] = item.GPUs
	}
	gangs := map[string]int{}
	for _, task := range tasks {
		if gpus, known := asked[task.ID()]; known && task.Attribute("pinion.gang") != "" {
			gangs[task.Attribute("pinion.gang")] = gpus
		}
	}
	for _, task := range tasks {
		if gpus, known := gangs[task.Attribute("pinion.gang")]; known {
			asked[task.ID()] = gpus
		}
	}
	return asked, nil
}

// waits reports whether a task has no host yet.
func waits(t client.Task) bool { return t.Instance == "" && !t.Stopped() }

// unknownStatus is the status that people see of a task on a host whose heartbeats are missing: what the host said last may be over.
const unknownStatus = "UNKNOWN"

// heldStatus is the status that people see of a task that waits and is held.
const heldStatus = "HELD"

// shownStatus is the status of a task, on a host or waiting for one.
func shownStatus(task client.Task, hosts []client.Host) string {
	on := slices.IndexFunc(hosts, func(h client.Host) bool { return h.ID == client.ResourceID(task.Instance) })
	if on >= 0 && !hosts[on].Connected && !task.Stopped() {
		return unknownStatus
	}
	if task.Attribute("pinion.held-by") != "" {
		return heldStatus
	}
	return task.Status
}

func taskTable(inv *invocation.Invocation, tasks []client.Task, hosts []client.Host, asked map[string]int) *table.Table {
	names := invocation.NamesOf(hosts)
	wide := inv.Output == invocation.Wide
	t := &table.Table{Header: []string{"ID", "TASK", "STATUS", "GPUS", "HOST", "AGE", "EXIT/REASON"}, Optional: []string{"AGE"}}
	if wide {
		t.Header = []string{"ID", "TASK", "GROUP", "STATUS", "GPUS", "HOST", "CREATED", "STARTED", "STOPPED", "EXIT/REASON"}
	}
	for _, task := range tasks {
		id, gpus, host := task.ID(), gpusText(task, asked), cmp.Or(names[client.ResourceID(task.Instance)], "-")
		if !wide {
			t.Add(format.ID(id), format.TaskName(task), shownStatus(task, hosts), gpus, host, format.Age(inv.Now().Sub(task.CreatedAt.Time)), format.ExitSummary(task))
			continue
		}
		if held := task.GPUs(); len(held) > 0 {
			gpus = strings.Join(held, ",")
		}
		t.Add(id, format.TaskName(task), cmp.Or(task.Group, "-"), shownStatus(task, hosts), gpus, host,
			inv.Time(task.CreatedAt.Time), inv.Time(task.StartedAt.Time), inv.Time(task.StoppedAt.Time), format.ExitSummary(task))
	}
	return t
}

// gpusText is how many GPUs a task has, or in parentheses how many it asks for while it waits.
func gpusText(task client.Task, asked map[string]int) string {
	if n := asked[task.ID()]; waits(task) && n > 0 {
		return fmt.Sprintf("(%d)", n)
	}
	return strconv.Itoa(len(task.GPUs()))
}
