// Package history has the commands about tasks that have ended, which the history keeps.
package history

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
	"pinion/api/ecs/types"
)

// defaultLimit is the number of tasks that are listed unless --limit says otherwise.
const defaultLimit = 1000

// Flags select ended tasks in `pinion ps`.
func Flags() []cli.Flag {
	return append(spanFlags(""),
		&cli.StringFlag{Name: "state", Usage: "ended tasks of this `OUTCOME`: succeeded, failed (also by the time limit, or by what they waited for) or stopped (by somebody, a drain or a preemption)"},
		&cli.StringFlag{Name: "team", Usage: "ended tasks of this `TEAM`"},
		&cli.StringFlag{Name: "family", Usage: "ended tasks of this `FAMILY` of task definitions"},
		&cli.StringFlag{Name: "group", Usage: "ended tasks of this `GROUP`"},
		&cli.StringFlag{Name: "key", Usage: "ended tasks that this access `KEY` ran"},
		&cli.IntFlag{Name: "limit", Value: defaultLimit, Usage: "list `N` ended tasks at most"},
	)
}

func spanFlags(since string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "since", Value: since, Usage: "tasks that ended at `TIME` or later: an age such as 36h or 7d, today, yesterday, or a date"},
		&cli.StringFlag{Name: "until", Usage: "tasks that ended before `TIME`"},
	}
}

// Asked reports whether a command line asks for ended tasks of the history.
func Asked(c *cli.Context) bool {
	return slices.ContainsFunc([]string{"since", "until", "state", "team", "family", "group", "key"}, c.IsSet)
}

// query reads the flags.
func query(c *cli.Context, now time.Time) (q client.HistoryQuery, err error) {
	q = client.HistoryQuery{Outcome: strings.ToLower(c.String("state")), Team: c.String("team"), Family: c.String("family"), Group: c.String("group"), Key: c.String("key"), Cluster: c.String("cluster")}
	if !slices.Contains([]string{"", "succeeded", "failed", "stopped"}, q.Outcome) {
		return q, exit.Usagef("--state %s: it is succeeded, failed or stopped", q.Outcome)
	}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if *at, err = moment(c.String(name), now); err != nil {
			return q, exit.Usagef("--%s %s: %v", name, c.String(name), err)
		}
	}
	return q, nil
}

// moment reads a time or an age before now; the empty text is no time.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago := slices.Index([]string{"today", "yesterday"}, strings.ToLower(text)); ago >= 0 {
		year, month, day := now.Local().Date()
		return time.Date(year, month, day-ago, 0, 0, 0, 0, time.Local), nil
	}
	if days, err := strconv.ParseFloat(strings.TrimSuffix(text, "d"), 64); err == nil && strings.HasSuffix(text, "d") && days >= 0 {
		return now.Add(-time.Duration(days * float64(24*time.Hour))), nil
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("an age such as 36h or 7d, today, yesterday, or a date such as 2026-01-31 is needed")
}

// List prints the tasks that ended.
func List(c *cli.Context, inv *invocation.Invocation) error {
	q, err := query(c, inv.Now())
	if err != nil {
		return err
	}
	if c.Int("limit") < 1 {
		return exit.Usagef("--limit %d: it is 1 or more", c.Int("limit"))
	}
	tasks, gaps, more, err := client.EndedTasks(c.Context, inv.Client, q, c.Int("limit"))
	if err != nil {
		return err
	}
	noteGaps(inv, gaps, q.Since)
	items, err := endedItems(tasks)
	if err != nil {
		return err
	}
	list := listing.List[client.EndedTask]{Items: items, Members: listing.MembersOf[types.Task](), ID: func(e client.EndedTask) string { return e.Task.ID() }, Names: func(e client.EndedTask) []string { return format.TaskNames(e.Task) }, Table: func(tasks []client.EndedTask) (*table.Table, error) {
		return endedTable(inv, tasks), nil
	}}
	if err := list.Print(c, inv); err != nil {
		return err
	}
	if more && inv.Output != invocation.JSON {
		inv.Notef("there are more than these %d: choose with --since, --state, --team, --family, or --limit", len(tasks))
	}
	return nil
}

// endedItems have the JSON of a task as `pinion ps` shows it, with what the history knows of it beside that.
func endedItems(tasks []client.EndedTask) ([]listing.Item[client.EndedTask], error) {
	items, err := listing.Items(tasks)
	if err != nil {
		return nil, err
	}
	for i := range items {
		members := map[string]json.RawMessage{}
		if err := json.Unmarshal(items[i].JSON, &members); err != nil {
			return nil, err
		}
		task := members["task"]
		delete(members, "task")
		if err := json.Unmarshal(task, &members); err != nil { // into the same map: of two with one name, the task's stays
			return nil, err
		}
		if items[i].JSON, err = json.Marshal(members); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func endedTable(inv *invocation.Invocation, tasks []client.EndedTask) *table.Table {
	wide := inv.Output == invocation.Wide
	t := &table.Table{Header: []string{"ID", "TASK", "TEAM", "STATE", "GPUS", "HOST", "ENDED", "RAN", "EXIT/REASON"}, Optional: []string{"RAN", "TEAM"},
		Empty: "no tasks ended then with these properties"}
	for _, e := range tasks {
		id, ended := format.ID(e.Task.ID()), format.Age(inv.Now().Sub(e.Task.StoppedAt.Time))
		if wide {
			id, ended = e.Task.ID(), inv.Time(e.Task.StoppedAt.Time)
		}
		t.Add(id, format.TaskName(e.Task), cmp.Or(e.Team, "-"), e.Outcome, strconv.Itoa(e.GPUs), cmp.Or(e.Host, "-"), ended, ran(e.Task), format.ExitSummary(e.Task))
	}
	return t
}

func ran(t client.Task) string {
	if t.StartedAt.IsZero() {
		return "-"
	}
	return format.Age(t.StoppedAt.Sub(t.StartedAt.Time))
}

// noteGaps says which part of the answer is incomplete.
func noteGaps(inv *invocation.Invocation, gaps []client.HistoryGap, since time.Time) {
	for _, g := range gaps {
		if g.To.Before(since) {
			continue
		}
		from := "the beginning of the pool"
		if !g.From.IsZero() {
			from = g.From.Local().Format(time.DateTime)
		}
		inv.Notef("the history is incomplete from %s to %s: tasks that ended then may be missing", from, g.To.Local().Format(time.DateTime))
	}
}

// Usage is the command that sums up GPU time.
func Usage(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "usage",
		Usage: "Sum the GPU-hours of ended tasks by team, key, family or day",
		Description: `Sums over tasks that have ended, by whole days in UTC: GPU-hours on the days on which they ran, tasks and failures on the day on which
they ended.

Examples:
   pinion usage                             # of the last 30 days, by team
   pinion usage --since 7d --by day,team
   pinion usage --by family --csv > usage.csv`,
		Flags: append(append(spanFlags("30d"), listing.Flags()...),
			&cli.StringFlag{Name: "by", Value: "team", Usage: "`WHAT` the lines differ in, with commas between: day, cluster, team, key, family"},
			&cli.StringFlag{Name: "team", Usage: "only this `TEAM`"},
			&cli.StringFlag{Name: "family", Usage: "only this `FAMILY` of task definitions"},
			&cli.StringFlag{Name: "key", Usage: "only this access `KEY`"},
			&cli.StringFlag{Name: "cluster", Usage: "only this `CLUSTER`", DefaultText: "all"},
			&cli.BoolFlag{Name: "csv", Usage: "print comma-separated values"},
		),
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return exit.Usagef("pinion usage takes no arguments; see pinion usage --help")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return printUsage(c.Context, c, inv)
		},
	}
}

func printUsage(ctx context.Context, c *cli.Context, inv *invocation.Invocation) error {
	q, err := query(c, inv.Now())
	if err != nil {
		return err
	}
	usage, err := client.SumUsage(ctx, inv.Client, q, c.String("by"))
	if err != nil {
		return err
	}
	noteGaps(inv, usage.Gaps, q.Since)
	if usage.More {
		inv.Notef("there are more rows than these: sum by less, or over a shorter time")
	}
	by := strings.Split(c.String("by"), ",")
	header := append(slices.Clone(by), "gpu_hours", "tasks", "failed")
	if c.Bool("csv") {
		w := csv.NewWriter(inv.Out)
		_ = w.Write(header) // Flush keeps the error
		for _, row := range usage.Rows {
			_ = w.Write(cells(row, by, "", 3))
		}
		w.Flush()
		return w.Error()
	}
	for i := range header {
		header[i] = strings.ToUpper(strings.ReplaceAll(header[i], "_", "-"))
	}
	items, err := listing.Items(usage.Rows)
	if err != nil {
		return err
	}
	return listing.List[client.UsageRow]{Items: items, Table: func(rows []client.UsageRow) (*table.Table, error) {
		t := &table.Table{Header: header, Empty: "no tasks ended then with these properties"}
		for _, row := range rows {
			t.Add(cells(row, by, "-", 1)...)
		}
		return t, nil
	}}.Print(c, inv)
}

// cells are the fields of a row, its GPU-hours with so many decimals; none stands for one that is empty.
func cells(row client.UsageRow, by []string, none string, decimals int) (fields []string) {
	values := map[string]string{"day": row.Day, "cluster": row.Cluster, "team": row.Team, "key": row.Key, "family": row.Family}
	for _, name := range by {
		fields = append(fields, cmp.Or(values[name], none))
	}
	return append(fields, strconv.FormatFloat(float64(row.GPUSeconds)/3600, 'f', decimals, 64), strconv.FormatInt(row.Tasks, 10), strconv.FormatInt(row.Failed, 10))
}
