// Package history has the commands about tasks that have ended, which the history keeps.
package history

import (
	"cmp"
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
		&cli.StringFlag{Name: "since", Value: since, Usage: "tasks that ended at `TIME` or later: an age such as 36h or 7d, today, yesterday, 14:40, or a date"},
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
		return q, exit.Usagef("--state %s: it is how a task ended: succeeded, failed or stopped; for tasks that have not ended: --filter status=RUNNING, or PROVISIONING for those in the queue", q.Outcome)
	}
	for name, at := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if *at, err = invocation.ParseTime(c.String(name), now); err != nil {
			return q, exit.Usagef("--%s %s: %v", name, c.String(name), err)
		}
	}
	return q, nil
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
	wanted := selector{c: c, inv: inv}
	if err := wanted.onlyMine(&q); err != nil {
		return err
	}
	tasks, gaps, more, err := client.EndedTasksThat(c.Context, inv.Client, q, c.Int("limit"), wanted.filter())
	if err != nil {
		return err
	}
	noteGaps(inv, gaps, q.Since)
	found := len(tasks)
	if found == 0 {
		tasks = wanted.first // the filters say of these what they have instead
	}
	list, err := endedList(c, inv, tasks)
	if err != nil {
		return err
	}
	if err := list.Print(c, inv); err != nil {
		return err
	}
	switch {
	case !more || inv.Output == invocation.JSON:
	case found < c.Int("limit"):
		inv.Notef("only the last %d tasks were searched: choose with --until, --state, --team or --family", client.MaxSearched)
	default:
		inv.Notef("there are more than %s: choose with --since, --state, --team, --family, or --limit", format.Plural(found, "task"))
	}
	return nil
}

// selector chooses among ended tasks what the history cannot choose by itself.
type selector struct {
	c     *cli.Context
	inv   *invocation.Invocation
	root  bool               // only the tasks that no key ran
	first []client.EndedTask // of the first page, where the filters let none through
}

// onlyMine makes the query one for the tasks of the caller, with --mine.
func (s *selector) onlyMine(q *client.HistoryQuery) (err error) {
	if !s.c.Bool("mine") {
		return nil
	}
	if q.Key != "" {
		return exit.Usagef("give --mine or --key, one of the two")
	}
	q.Key, err = s.inv.Owner(s.c.Context)
	s.root = q.Key == ""
	return err
}

// filter leaves the wanted tasks of a page; nil: all are wanted.
func (s *selector) filter() func([]client.EndedTask) ([]client.EndedTask, error) {
	filters := s.c.StringSlice("filter")
	if len(filters) == 0 && !s.root {
		return nil
	}
	return func(page []client.EndedTask) ([]client.EndedTask, error) {
		if s.root {
			page = slices.DeleteFunc(page, func(e client.EndedTask) bool { return e.Key != "" })
		}
		if len(s.first) == 0 {
			s.first = page
		}
		list, err := endedList(s.c, s.inv, page)
		if err != nil {
			return nil, err
		}
		list.Items, err = list.Matching(filters)
		return list.Values(), err
	}
}

// endedList is ended tasks as they are listed.
func endedList(c *cli.Context, inv *invocation.Invocation, tasks []client.EndedTask) (listing.List[client.EndedTask], error) {
	items, err := endedItems(tasks)
	return listing.List[client.EndedTask]{Items: items, Members: listing.MembersOf[types.Task](), ID: func(e client.EndedTask) string { return e.Task.ID() },
		Fields: map[string]func(client.EndedTask) []string{
			"name": func(e client.EndedTask) []string { return format.TaskNames(e.Task) },
			"key":  func(e client.EndedTask) []string { return []string{cmp.Or(e.Key, format.Root)} },
		}, Table: func(tasks []client.EndedTask) (*table.Table, error) {
			t := endedTable(inv, tasks)
			t.Empty += liveFilter(c)
			return t, nil
		}}, err
}

// liveFilter says how tasks that have not ended are chosen by what a command line asks of ended ones; empty when they are not.
func liveFilter(c *cli.Context) string {
	for flag, key := range map[string]string{"group": "group", "family": "name", "key": "key"} {
		if c.IsSet(flag) && !c.IsSet("since") && !c.IsSet("until") {
			return fmt.Sprintf("; for tasks that have not ended: pinion ps --filter %s=%s", key, c.String(flag))
		}
	}
	return ""
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
		Empty: "no tasks ended then with these properties", Brief: table.BriefReason}
	if wide {
		t.Brief = 0
	}
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
