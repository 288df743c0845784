package cli

import (
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/selection"
	"pinion/api/cli/tasklog"
	"pinion/api/client"
	"pinion/raftfsm/logfilter"
	"pinion/raftfsm/spec"
)

func logsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "Show the logs of tasks, services and groups",
		ArgsUsage: "[TASK...]",
		Description: `Standard output of the containers goes to standard output, their standard error to standard error. TASK is an id, its first
digits, an ARN, or a name: that of 'pinion run --name', a family or a group. Of a group, an array or a gang it shows all tasks; service/NAME
is all tasks of a service, family:NAME of a family. Several are shown as one log, in the order of time over all hosts. Lines of a task with
several containers begin with the container's name, those of several tasks with the task: its name with its index or rank, or its id.

With -f, tasks of a service, of --group or --family that start later join in, and those that have ended leave, which is said. A host that does
not answer is named, and the others go on. --grep is matched where the log is: only lines that match travel.

Examples:
   pinion logs 3f2a91c0
   pinion logs train -f --tail 20
   pinion logs -f service/web service/worker
   pinion logs --group nightly --grep 'loss=nan|Traceback'
   pinion logs service/web --since 14:00 --until 14:10 --columns time,level,msg
   pinion logs --since 10m --timestamps --container trainer 3f2a91c0
   pinion logs --path 3f2a91c0            # HOST:FILE of each container`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow the log until the task has stopped"},
			&cli.StringFlag{Name: "tail", Aliases: []string{"n"}, DefaultText: "all", Usage: "only the last `N` lines of each task, at most 10000; with 0 and -f only those to come"},
			&cli.StringFlag{Name: "since", Usage: "only lines since `TIME`: an age such as 10m or 1d, a time such as 14:40, or a date, 2006-01-02T15:04:05Z"},
			&cli.StringFlag{Name: "until", Usage: "only lines before `TIME`"},
			&cli.StringFlag{Name: "grep", Usage: "only lines that match `PATTERN`, a regular expression of RE2; --tail counts those"},
			&cli.BoolFlag{Name: "invert-match", Usage: "with --grep: only lines that do not match"},
			&cli.StringFlag{Name: "container", DefaultText: "all", Usage: "only the container `NAME`"},
			&cli.StringFlag{Name: "columns", Usage: "show lines that are JSON by these of their `MEMBERS`, with commas between: time,level,http.status"},
			&cli.BoolFlag{Name: "path", Usage: "show the host and the file that have the log, instead of its lines"},
			&cli.BoolFlag{Name: "timestamps", Aliases: []string{"t"}, Usage: "show the time of each line"},
			&cli.StringFlag{Name: "group", Usage: "show all tasks of the group `NAME`, such as --group nightly"},
			&cli.StringFlag{Name: "family", Usage: "show all tasks of the family `NAME` of task definitions"},
			invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			targets, err := selection.ParseTargets(c)
			if err != nil {
				return err
			}
			return showLogs(p, c, targets)
		},
	}
}

// showLogs shows the logs of tasks, as the flags of `pinion logs` say.
func showLogs(p Program, c *cli.Context, targets selection.Targets) error {
	inv, err := p.system.Invoke(c)
	if err != nil {
		return err
	}
	view := logView{inv: inv, targets: targets, timestamps: c.Bool("timestamps")}
	if view.query, err = logQuery(c, inv.Now()); err != nil {
		return err
	}
	if text := c.String("columns"); text != "" {
		if inv.Output == invocation.JSON {
			return exit.Usagef("--columns is for people, -o json for programs: name one of them")
		}
		if view.columns, err = tasklog.ParseColumns(text); err != nil {
			return exit.Usagef("--columns: %w", err)
		}
	}
	tasks, err := targets.Tasks(c.Context, inv)
	if err != nil {
		return err
	}
	if c.Bool("path") {
		return printLogPaths(c.Context, c, inv, tasks)
	}
	return view.show(c.Context, tasks)
}

func logQuery(c *cli.Context, now time.Time) (client.LogQuery, error) {
	q := client.LogQuery{Container: c.String("container"), Follow: c.Bool("follow"), Grep: c.String("grep"), Invert: c.Bool("invert-match")}
	var err error
	if q.Since, err = invocation.ParseSince(c.String("since"), now); err != nil {
		return q, err
	}
	if q.Until, err = invocation.ParseTime(c.String("until"), now); err != nil {
		return q, exit.Usagef("--until %q: %w", c.String("until"), err)
	}
	if q.Follow && !q.Until.IsZero() {
		return q, exit.Usagef("--until and --follow exclude each other: what is followed ends with its tasks, or with Ctrl-C")
	}
	if err := (logfilter.Filter{Grep: q.Grep, Invert: q.Invert}).Check(); err != nil {
		return q, exit.Usagef("--grep: %w", err)
	}
	text := c.String("tail")
	if text == "" && !c.IsSet("tail") || text == "all" {
		return q, nil
	}
	q.Tail, err = strconv.Atoi(text)
	switch {
	case err != nil || q.Tail < 0:
		return q, exit.Usagef("--tail %s: it is a number of lines, 0 or more, or all", text)
	case q.Tail > spec.MaxLogTail:
		return q, exit.Usagef("--tail %d: must be at most %d; for more, leave it out or read from a moment on with --since", q.Tail, spec.MaxLogTail)
	case q.Tail == 0:
		q.Since = now // none of those before
	}
	return q, nil
}
