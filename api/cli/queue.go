package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/raftfsm"
)

func queueCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "queue",
		Usage: "list the tasks that wait for a place, in their order",
		Description: `First are those whose team stays within its quota, then the highest priority, then the team that had fewest GPU-hours for its
weight lately, then the oldest. PLACE is - while something else has to happen first. A gang is one line.
What no host could ever run waits for another host: it is told what the nearest one lacks ("impossible" with -o json).

Examples:
   pinion queue
   pinion queue --cluster lab -o wide      # with whole ids
   pinion queue -o json`,
		Flags: []cli.Flag{clusterFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageErrorf("pinion queue takes no arguments; see pinion queue --help")
			}
			d, err := p.openDesk(c)
			if err != nil {
				return err
			}
			return d.queue(c.Context, c.String("cluster"))
		},
	}
}

func (d *desk) queue(ctx context.Context, cluster string) error {
	var list []raftfsm.Queued
	if err := d.host.Get(ctx, "/v1/queue", url.Values{"cluster": {cluster}}, &list); err != nil {
		return err
	}
	if d.output == outputJSON {
		return printJSON(d.out, append([]raftfsm.Queued{}, list...))
	}
	t := &table{header: []string{"PLACE", "ID", "GROUP", "TEAM", "PRIORITY", "ASKS", "SINCE", "WAITS FOR"}}
	for _, q := range list {
		place, id := "-", q.TaskID
		if q.Place > 0 {
			place = strconv.Itoa(q.Place)
		}
		if d.output != outputWide {
			id = short(id)
		}
		t.add(place, id, q.Group, cmp.Or(q.Team, "-"), strconv.Itoa(q.Priority), asks(q), age(d.now().Sub(q.Since)), q.WaitsFor)
	}
	return t.write(d.out, d.columns())
}

// asks is what a task takes of its host, the dearest first.
func asks(q raftfsm.Queued) string {
	text := fmt.Sprintf("%s CPU, %s", cores(q.CPU), mebibytes(q.MemoryMiB))
	if q.GPUs > 0 {
		text = fmt.Sprintf("%s, %s", plural(q.GPUs, "GPU"), text)
	}
	if q.Tasks > 1 {
		text = fmt.Sprintf("%d x (%s)", q.Tasks, text)
	}
	return text
}
