package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/raftfsm/spec"
)

func queueCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "queue",
		Usage: "list the tasks that wait for a place, in their order",
		Description: `First are those whose team stays within its quota, then the highest priority, then the team that had fewest GPU-hours for its
weight lately, then the oldest. A gang is one line. PLACE is - while something else has to happen first, and for what no host
could ever run: that waits for another host, and it is told what the nearest one lacks ("impossible" with -o json).
On a terminal that is too narrow, columns that tell nothing new are left out first; -o wide has all.

Examples:
   pinion queue
   pinion queue --cluster lab -o wide      # with whole ids, and every column
   pinion queue -o json`,
		Flags: []cli.Flag{clusterFlag()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageErrorf("pinion queue takes no arguments; see pinion queue --help")
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			return s.printQueue(c.Context, c.String("cluster"))
		},
	}
}

// queuedTasks lists what waits in a cluster, in its order.
func (s *session) queuedTasks(ctx context.Context, cluster string) ([]spec.QueueItem, error) {
	var list []spec.QueueItem
	return list, s.client.Get(ctx, "/v1/queue", url.Values{"cluster": {cluster}}, &list)
}

func (s *session) printQueue(ctx context.Context, cluster string) error {
	list, err := s.queuedTasks(ctx, cluster)
	if err != nil {
		return err
	}
	if s.output == outputJSON {
		return printJSON(s.out, append([]spec.QueueItem{}, list...))
	}
	return s.queueTable(list).write(s.out, s.tableWidth())
}

func (s *session) queueTable(list []spec.QueueItem) *table {
	t := &table{header: []string{"PLACE", "ID", "GROUP", "TEAM", "PRIORITY", "ASKS", "SINCE", "WAITS FOR"},
		optional: []string{"TEAM", "PRIORITY", "GROUP", "SINCE"}}
	for _, q := range list {
		place, id := "-", q.TaskID
		if q.Position > 0 && q.Infeasible == nil {
			place = strconv.Itoa(q.Position)
		}
		if s.output != outputWide {
			id = abbreviateID(id)
		}
		t.add(place, id, q.Group, cmp.Or(q.Team, "-"), strconv.Itoa(q.Priority), requestText(q), formatAge(s.now().Sub(q.Since)), q.WaitReason)
	}
	return t
}

// requestText is what a task takes of its host, the dearest first.
func requestText(q spec.QueueItem) string {
	text := fmt.Sprintf("%s CPU, %s", formatCores(q.CPU), formatMiB(q.MemoryMiB))
	if q.GPUs > 0 {
		text = fmt.Sprintf("%s, %s", plural(q.GPUs, "GPU"), text)
	}
	if q.Tasks > 1 {
		text = fmt.Sprintf("%d x (%s)", q.Tasks, text)
	}
	return text
}
