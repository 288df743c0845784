package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func psCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ps",
		Usage: "list tasks",
		Description: `Lists the tasks of a cluster that are not over yet, the newest first; with -a also those that stopped within the last hour.
INDEX is the number of a task in its array, RANK its place in a gang; the columns are there when a task has one.

Examples:
   pinion ps
   pinion ps -a
   pinion ps -o wide          # with whole ids, groups and GPU ids
   pinion ps -o json          # every field, as DescribeTasks answers it`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also tasks that have stopped"},
			clusterFlag(),
		},
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			return s.listTasks(c.Context, c.String("cluster"), c.Bool("all"))
		},
	}
}

func (s *session) listTasks(ctx context.Context, cluster string, all bool) error {
	ids, err := s.client.TaskIDs(ctx, cluster)
	if err != nil {
		return err
	}
	tasks, _, err := s.client.DescribeTasks(ctx, cluster, ids) // a task reaped in between is simply no longer there
	if err != nil {
		return err
	}
	if !all {
		tasks = slices.DeleteFunc(tasks, func(t client.Task) bool { return t.Stopped() })
	}
	slices.SortStableFunc(tasks, func(a, b client.Task) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt.Time), compareIndex(a, b), strings.Compare(a.ARN, b.ARN))
	})
	if s.output == outputJSON {
		return printJSON(s.out, append([]client.Task{}, tasks...)) // none is [], not null
	}
	names, err := s.hostNames(ctx)
	if err != nil {
		return err
	}
	return s.taskTable(tasks, names).write(s.out, s.tableWidth())
}

// tableWidth is the room for a table: wide ones are never cut.
func (s *session) tableWidth() int {
	if s.output == outputWide {
		return 0
	}
	return terminalWidth(s.out)
}

// indexColumns are the columns for the numbers of tasks in an array or a gang. Each is there only when a task has such a number.
var indexColumns = []struct{ column, attribute string }{{"INDEX", "pinion.array-index"}, {"RANK", "pinion.rank"}}

// compareIndex puts tasks that began together into the order of their numbers.
func compareIndex(a, b client.Task) int {
	for _, n := range indexColumns {
		if order := cmp.Compare(intAttribute(a, n.attribute), intAttribute(b, n.attribute)); order != 0 {
			return order
		}
	}
	return 0
}

func (s *session) taskTable(tasks []client.Task, hosts map[string]string) *table {
	t := &table{header: []string{"ID", "TASK"}, optional: []string{"AGE", "HOST"}}
	if s.output == outputWide {
		t.header = append(t.header, "GROUP")
	}
	var attributes []string // attributes
	for _, n := range indexColumns {
		if slices.ContainsFunc(tasks, func(t client.Task) bool { return t.Attribute(n.attribute) != "" }) {
			t.header, attributes = append(t.header, n.column), append(attributes, n.attribute)
		}
	}
	t.header = append(t.header, "STATUS", "GPUS", "HOST", "AGE", "EXIT/REASON")
	for _, task := range tasks {
		row := []string{abbreviateID(task.ID()), client.ResourceID(task.Definition)}
		gpus := strconv.Itoa(len(task.GPUs()))
		if s.output == outputWide {
			row = []string{task.ID(), client.ResourceID(task.Definition), cmp.Or(task.Group, "-")}
			gpus = cmp.Or(strings.Join(task.GPUs(), ","), "-")
		}
		for _, attribute := range attributes {
			row = append(row, cmp.Or(task.Attribute(attribute), "-"))
		}
		t.add(append(row, task.Status, gpus, hosts[client.ResourceID(task.Instance)], formatAge(s.now().Sub(task.CreatedAt.Time)), exitSummary(task))...)
	}
	return t
}

// exitSummary tells how a task ended: exit codes when its containers had any, and the reason when that says more.
func exitSummary(task client.Task) string {
	if !task.Stopped() {
		return ""
	}
	var parts []string
	for _, c := range task.Containers {
		if c.ExitCode != nil {
			parts = append(parts, strconv.Itoa(*c.ExitCode))
		}
	}
	text := strings.Join(parts, ",")
	if why := stopReason(task); why != "" {
		text = strings.TrimSpace(text + " " + why)
	}
	return text
}

// stopReason is why a task did not simply run to its end, empty when it did.
func stopReason(task client.Task) string {
	for _, c := range task.Containers {
		if c.Reason != "" {
			return c.Reason
		}
	}
	if task.StopCode == "EssentialContainerExited" {
		return ""
	}
	return task.StoppedReason
}
