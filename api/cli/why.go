package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/raftfsm"
)

func whyCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "why",
		Usage:     "tell why a task is where it is, and what it waits for",
		ArgsUsage: "TASK",
		Description: `Of a task that waits: its place in the queue, what each host says to it, which tasks have what it needs and until when, and when
it can start at the earliest, as far as time limits tell. Of a task whose work is done again, by which task; of a retry, what
it is a retry of.

Examples:
   pinion why 3f2a
   pinion why -o json 3f2a`,
		Flags: []cli.Flag{clusterFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageErrorf("pinion why takes one task; see pinion why --help")
			}
			d, err := p.openDesk(c)
			if err != nil {
				return err
			}
			return d.why(c.Context, c.String("cluster"), c.Args().First())
		},
	}
}

func (d *desk) why(ctx context.Context, cluster, task string) error {
	ids, err := d.resolve(ctx, cluster, []string{task})
	if err != nil {
		return err
	}
	var e raftfsm.Explanation
	if err := d.host.Get(ctx, "/v1/tasks/"+ids[0]+"/explain", nil, &e); err != nil {
		return err
	}
	if d.output == outputJSON {
		return printJSON(d.out, e)
	}
	if _, err := fmt.Fprintf(d.out, "Task %s is %s. %s\n", e.TaskID, e.Status, e.Summary); err != nil || e.Queue == nil {
		return err
	}
	return d.explain(ctx, e)
}

// explain shows what is known of a task that waits.
func (d *desk) explain(ctx context.Context, e raftfsm.Explanation) error {
	when := e.Estimate
	if e.Earliest != nil {
		when = fmt.Sprintf("%s at the earliest, %s", e.Earliest.UTC().Format(time.RFC3339), e.Estimate)
	}
	if when != "" {
		fmt.Fprintf(d.out, "Start: %s\n", when)
	}
	names, err := d.hostNames(ctx)
	if err != nil {
		return err
	}
	hosts := &table{header: []string{"HOST", "REFUSES FOR", "BECAUSE"}}
	for _, refusal := range e.Hosts {
		hosts.add(cmp.Or(names[refusal.HostID], refusal.HostID), refusal.Reason, refusal.Detail)
	}
	holders := &table{header: []string{"HELD BY", "GROUP", "TEAM", "HOST", "GPUS", "UNTIL"}}
	for _, h := range e.Holders {
		end := "it ends"
		if !h.Until.IsZero() {
			end = h.Until.UTC().Format(time.RFC3339)
		}
		id := h.TaskID
		if d.output != outputWide {
			id = short(id)
		}
		holders.add(id, h.Group, cmp.Or(h.Team, "-"), cmp.Or(names[h.HostID], h.HostID), strconv.Itoa(h.GPUs), end)
	}
	for _, t := range []*table{hosts, holders} {
		if len(t.rows) == 0 {
			continue
		}
		fmt.Fprintln(d.out)
		if err := t.write(d.out, d.columns()); err != nil {
			return err
		}
	}
	return nil
}
