package history

import (
	"cmp"
	"context"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// dimensions are what usage is summed by.
var dimensions = []string{"day", "cluster", "team", "key", "family"}

// Usage is the command that sums up GPU time.
func Usage(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "usage",
		Usage: "Sum the GPU-hours of ended tasks by team, key, family or day",
		Description: `Sums over tasks that have ended, by whole days in UTC: GPU-hours on the days on which they ran, tasks and failures on the day on which
they ended; with --running, tasks that run too, up to now. BUSY is the part of the measured time in which the GPUs computed, and KWH their energy in
it: --csv has the GPU-hours that were measured. KEY is the name of a key where you may know it, else its id, which --csv and -o json have.

Examples:
   pinion usage                             # of the last 30 days, by team
   pinion usage --since 7d --by day,team
   pinion usage --running                   # with what the tasks that run have used so far
   pinion usage --by family --csv > usage.csv`,
		Flags: append(append(spanFlags("30d"), listing.Flags()...),
			&cli.StringFlag{Name: "by", Value: "team", Usage: "`WHAT` the lines differ in, with commas between: day, cluster, team, key, family"},
			&cli.StringFlag{Name: "team", Usage: "only this `TEAM`"},
			&cli.StringFlag{Name: "family", Usage: "only this `FAMILY` of task definitions"},
			&cli.StringFlag{Name: "key", Usage: "only this access `KEY`"},
			&cli.StringFlag{Name: "cluster", Usage: "only this `CLUSTER`", DefaultText: "all"},
			&cli.BoolFlag{Name: "running", Usage: "count tasks that run too, up to now"},
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
	by := strings.Split(c.String("by"), ",")
	for _, name := range by {
		if !slices.Contains(dimensions, name) {
			return exit.Usagef("--by %s: lines differ in one or several of %s", name, strings.Join(dimensions, ", "))
		}
	}
	usage, err := client.SumUsage(ctx, inv.Client, q, c.String("by"), c.Bool("running"))
	if err != nil {
		return err
	}
	noteGaps(inv, usage.Gaps, q.Since)
	if usage.More {
		inv.Notef("there are more rows than these: sum by less, or over a shorter time")
	}
	if c.Bool("csv") {
		return writeCSV(inv.Out, by, usage.Rows)
	}
	header := append(strings.Split(strings.ToUpper(c.String("by")), ","), "GPU-HOURS", "BUSY", "KWH", "TASKS", "FAILED")
	if c.Bool("running") {
		header = append(header, "RUNNING")
	}
	names := sync.OnceValues(func() (func(string) string, error) { return invocation.KeyNames(ctx, inv.Client) })
	items, err := listing.Items(usage.Rows)
	if err != nil {
		return err
	}
	return listing.List[client.UsageRow]{Items: items, Table: func(rows []client.UsageRow) (*table.Table, error) {
		t := &table.Table{Header: header, Optional: []string{"KWH", "BUSY"}, Empty: "no tasks ended then with these properties"}
		for _, row := range rows {
			if row.Key != "" {
				name, err := names()
				if err != nil {
					return nil, err
				}
				row.Key = name(row.Key)
			}
			row.Key = cmp.Or(row.Key, format.Root)
			cells := append(dimensionsOf(row, by, "-"), hours(row.GPUSeconds, 1), busy(row), kilowattHours(row.Joules, "-"), strconv.FormatInt(row.Tasks, 10), strconv.FormatInt(row.Failed, 10))
			if c.Bool("running") {
				cells = append(cells, strconv.FormatInt(row.Running, 10))
			}
			t.Add(cells...)
		}
		return t, nil
	}}.Print(c, inv)
}

// writeCSV writes the rows with all their numbers.
func writeCSV(to io.Writer, by []string, rows []client.UsageRow) error {
	w := csv.NewWriter(to)
	_ = w.Write(append(slices.Clone(by), "gpu_hours", "tasks", "failed", "measured_gpu_hours", "busy_gpu_hours", "kwh", "running")) // Flush keeps the error
	for _, row := range rows {
		_ = w.Write(append(dimensionsOf(row, by, ""), hours(row.GPUSeconds, 3), strconv.FormatInt(row.Tasks, 10), strconv.FormatInt(row.Failed, 10),
			hours(row.MeasuredGPUSeconds, 3), hours(row.BusyGPUSeconds, 3), kilowattHours(row.Joules, "0"), strconv.FormatInt(row.Running, 10)))
	}
	w.Flush()
	return w.Error()
}

// dimensionsOf are what a row differs in from others; none stands for one that is empty.
func dimensionsOf(row client.UsageRow, by []string, none string) (fields []string) {
	values := map[string]string{"day": row.Day, "cluster": row.Cluster, "team": row.Team, "key": row.Key, "family": row.Family}
	for _, name := range by {
		fields = append(fields, cmp.Or(values[name], none))
	}
	return fields
}

// hours are seconds with so many decimals.
func hours(seconds int64, decimals int) string {
	hours := float64(seconds) / 3600
	if hours > 0 && hours < 0.1 {
		decimals = 3 // a little is not nothing
	}
	return strconv.FormatFloat(hours, 'f', decimals, 64)
}

// busy is for how much of the measured time the GPUs have computed.
func busy(row client.UsageRow) string {
	if row.MeasuredGPUSeconds == 0 {
		return "-"
	}
	return strconv.FormatInt((100*row.BusyGPUSeconds+row.MeasuredGPUSeconds/2)/row.MeasuredGPUSeconds, 10) + "%"
}

func kilowattHours(joules int64, none string) string {
	if joules == 0 {
		return none
	}
	return strconv.FormatFloat(float64(joules)/3.6e6, 'f', 1, 64)
}
