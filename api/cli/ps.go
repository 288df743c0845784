package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/history"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/selection"
	"pinion/api/cli/table"
	"pinion/api/client"
	"pinion/api/ecs/types"
)

func psCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ps",
		Usage: "List tasks",
		Description: `Lists the tasks of a cluster that have not stopped, the newest first; with -a also tasks that stopped within the last hour.
--mine leaves the tasks that your access key, or your login, has run; KEY of -o wide tells whose each is.
With --since, --until, --state, --team, --family, --group or --key: the tasks that ended, the last one first, as far back as the hosts keep them.
TASK is its definition, with its index in an array or its rank in a gang in brackets. GPUS is what it has, a number or memory of a GPU that others share,
or in parentheses what it asks for while it waits. STATUS is UNKNOWN while the heartbeats of the task's host are missing; the task may run on there.
HELD is a pending task that waits for 'pinion task release'. Otherwise it is that of ECS: PROVISIONING (in the queue), PENDING, RUNNING,
STOPPING, STOPPED and those between them. In a pipe EXIT/REASON has up to 100 characters; -o wide cuts nothing.

Examples:
   pinion ps
   pinion ps -a --watch
   pinion ps -q | xargs pinion inspect
   pinion ps --since 2d --state failed
   pinion ps --filter host=gpu-7 --filter status!=RUNNING
   pinion ps --filter name=train
   pinion ps --mine
   pinion ps --format 'table {{id .taskArn}}\t{{.lastStatus}}\t{{time .startedAt}}'
   pinion ps --format '{{.ID}} {{.TASK}} {{.HOST}}'      # columns of the table
   pinion ps -o wide          # with full ids, groups, keys, GPU ids, ports and times
   pinion ps -o json          # all fields, as in DescribeTasks`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "include stopped tasks"}, invocation.OwnTasksFlag("list"),
			invocation.QuietFlag(), invocation.WatchFlag(), invocation.ClusterFlag(),
		}, slices.Concat(listing.Flags(), history.Flags())...),
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			if history.Asked(c) {
				return history.List(c, inv)
			}
			return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
				return listTasks(ctx, c, inv)
			})
		},
	}
}

func listTasks(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	cluster, all := c.String("cluster"), c.Bool("all")
	read := describeAll
	short := !listing.UsesJSON(c, inv)
	if short {
		read = client.ListedTasks
	}
	tasks, err := read(ctx, inv.Client, cluster)
	if err != nil {
		return err
	}
	if !all {
		tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() })
	}
	if tasks, err = selection.FilterOwn(ctx, c, inv, tasks); err != nil {
		return err
	}
	tasks = newestFirst(tasks)
	items := listing.Bare(tasks)
	if !short {
		if items, err = listing.Items(tasks); err != nil {
			return err
		}
	}
	draw := taskTables(ctx, inv, cluster)
	return listing.List[client.Task]{Items: items, Members: listing.MembersOf[types.Task](), ID: func(t client.Task) string { return t.ID() }, Fields: map[string]func(client.Task) []string{
		"name": format.TaskNames, "key": func(t client.Task) []string { return []string{format.Key(t)} },
	}, Table: func(shown []client.Task) (*table.Table, error) {
		t, err := draw(shown)
		if err == nil {
			if t.Empty = "no tasks in cluster " + cluster; !all {
				t.Empty += "; -a shows those that have ended too"
			}
		}
		return t, err
	}}.Print(c, inv)
}

// newestFirst are tasks in order; those that were started together by index or rank. It sorts pointers, as tasks are large.
func newestFirst(tasks []client.Task) []client.Task {
	order := make([]*client.Task, len(tasks))
	for i := range tasks {
		order[i] = &tasks[i]
	}
	slices.SortFunc(order, func(a, b *client.Task) int {
		if order := b.CreatedAt.Compare(a.CreatedAt.Time); order != 0 {
			return order
		}
		return cmp.Or(format.CompareIndex(a, b), strings.Compare(a.ARN, b.ARN))
	})
	sorted := make([]client.Task, len(tasks))
	for i, task := range order {
		sorted[i] = *task
	}
	return sorted
}

// describeAll reads the whole documents of all tasks of a cluster.
func describeAll(ctx context.Context, c *client.Client, cluster string) ([]client.Task, error) {
	ids, err := c.TaskIDs(ctx, cluster)
	if err != nil {
		return nil, err
	}
	tasks, _, err := c.DescribeTasks(ctx, cluster, ids) // a task that was removed in between is left out
	return tasks, err
}

// taskTables makes tables of tasks; what is known of the hosts is asked once, and not before it is needed.
func taskTables(ctx context.Context, inv *invocation.Invocation, cluster string) func([]client.Task) (*table.Table, error) {
	hosts := sync.OnceValues(func() ([]client.Host, error) { return inv.Client.Hosts(ctx) })
	return func(shown []client.Task) (*table.Table, error) {
		hosts, err := hosts()
		if err != nil {
			return nil, err
		}
		return taskTable(inv, shown, hosts, infeasibleTasks(ctx, inv, cluster, shown)), nil
	}
}

// maxAskedWaiting is the number of waiting tasks up to which a list asks what they wait for: the answer is as long as the queue.
const maxAskedWaiting = 1000

// infeasibleTasks are the waiting tasks that no host of the cluster could ever run, with the reason, by id.
func infeasibleTasks(ctx context.Context, inv *invocation.Invocation, cluster string, shown []client.Task) map[string]string {
	waiting := 0
	for _, task := range shown {
		if waits(task) {
			waiting++
		}
	}
	if waiting == 0 || waiting > maxAskedWaiting {
		return nil
	}
	items, err := inv.Client.Queue(ctx, cluster)
	if err != nil {
		return nil // best effort: the leader alone knows the queue, the list does not need it
	}
	reasons := map[string]string{}
	for _, item := range items {
		if item.Infeasible != nil {
			reasons[item.TaskID] = "waits for " + item.WaitReason
		}
	}
	return reasons
}

// waits reports whether a task has no host yet.
func waits(t client.Task) bool { return t.Instance == "" && !t.Stopped() }

// heldStatus is the status that people see of a task that waits and is held.
const heldStatus = "HELD"

// shownStatus is the status of a task, on a host or waiting for one; silent are the ids of the hosts whose heartbeats are missing.
func shownStatus(task client.Task, silent map[string]bool) string {
	if silent[client.ResourceID(task.Instance)] && !task.Stopped() {
		return format.Unknown
	}
	if task.Attribute("pinion.held-by") != "" {
		return heldStatus
	}
	return task.Status
}

func taskTable(inv *invocation.Invocation, tasks []client.Task, hosts []client.Host, infeasible map[string]string) *table.Table {
	names, silent := invocation.NamesOf(hosts), map[string]bool{}
	for _, h := range hosts {
		silent[h.ID] = !h.Connected
	}
	wide := inv.Output == invocation.Wide
	t := &table.Table{Header: []string{"ID", "TASK", "STATUS", "GPUS", "HOST", "AGE", "EXIT/REASON"}, Optional: []string{"AGE"}, Brief: table.BriefReason}
	if wide {
		t.Brief = 0
		t.Header = []string{"ID", "TASK", "GROUP", "KEY", "STATUS", "GPUS", "HOST", "PORTS", "CREATED", "STARTED", "STOPPED", "EXIT/REASON"}
	}
	for _, task := range tasks {
		reason := cmp.Or(format.ExitSummary(task), infeasible[task.ID()])
		id, gpus, host := task.ID(), gpusText(task), cmp.Or(names[client.ResourceID(task.Instance)], "-")
		if !wide {
			t.Add(format.ID(id), format.TaskName(task), shownStatus(task, silent), gpus, host, format.Age(inv.Now().Sub(task.CreatedAt.Time)), reason)
			continue
		}
		if len(task.GPUs()) > 0 {
			gpus = invocation.GPUText(hosts, task)
		}
		t.Add(id, format.TaskName(task), cmp.Or(task.Group, "-"), format.Key(task), shownStatus(task, silent), gpus, host, cmp.Or(format.Ports(task), "-"),
			inv.Time(task.CreatedAt.Time), inv.Time(task.StartedAt.Time), inv.Time(task.StoppedAt.Time), reason)
	}
	return t
}

// gpusText is how many GPUs a task has, or how much memory of a shared one, or in parentheses how many it asks for while it waits, or which ones will do.
func gpusText(task client.Task) string {
	asked := cmp.Or(task.Attribute("pinion.gpu-alternatives"), task.Attribute("pinion.gpus"))
	if mib, err := strconv.ParseInt(task.Attribute("pinion.gpu-memory"), 10, 64); err == nil {
		asked = format.GPUs(0, mib)
	}
	if waits(task) && asked != "" && asked != "0" {
		return "(" + asked + ")"
	}
	return format.GPUs(len(task.GPUs()), task.GPUMemory())
}
