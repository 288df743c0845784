package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/raftfsm/spec"
)

func whyCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "why",
		Usage:     "tell why a task is where it is, and what it waits for",
		ArgsUsage: "[TASK]",
		Description: `Of a task that waits: its place in the queue, what each host says to it, which tasks have what it needs and until when, and when
it can start at the earliest, as far as time limits tell. Of a task whose work is done again, by which task; of a retry, what
it is a retry of. Of a group that waits it explains the task that comes first.

Examples:
   pinion why 3f2a91c0
   pinion why --group nightly
   pinion why -o json 3f2a91c0`,
		Flags: []cli.Flag{groupFlag("explain"), clusterFlag()},
		Action: func(c *cli.Context) error {
			if err := checkGroup(c); err != nil {
				return err
			}
			if c.NArg() > 1 {
				return usageErrorf("pinion why takes one task; see pinion why --help")
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			id, err := s.taskIDToExplain(c)
			if err != nil {
				return err
			}
			return s.printExplanation(c.Context, id)
		},
	}
}

// taskIDToExplain is the id of the task that a command line asks about.
func (s *session) taskIDToExplain(c *cli.Context) (string, error) {
	if group := c.String("group"); group != "" {
		return s.firstPending(c.Context, c.String("cluster"), group)
	}
	ids, err := s.resolveTaskIDs(c.Context, c.String("cluster"), c.Args().Slice())
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// printExplanation explains the task of an id.
func (s *session) printExplanation(ctx context.Context, id string) error {
	var e spec.Explanation
	if err := s.client.Get(ctx, "/v1/tasks/"+id+"/explain", nil, &e); err != nil {
		return err
	}
	if s.output == outputJSON {
		return printJSON(s.out, e)
	}
	if _, err := fmt.Fprintf(s.out, "Task %s is %s. %s\n", e.TaskID, e.Status, e.Summary); err != nil || e.Queue == nil {
		return err
	}
	return s.printPending(ctx, e)
}

// printPending shows what is known of a task that waits.
func (s *session) printPending(ctx context.Context, e spec.Explanation) error {
	when := e.Estimate
	if e.Earliest != nil {
		when = fmt.Sprintf("%s at the earliest, %s", e.Earliest.UTC().Format(time.RFC3339), e.Estimate)
	}
	if when != "" {
		fmt.Fprintf(s.out, "Start: %s\n", when)
	}
	names, err := s.hostNames(ctx)
	if err != nil {
		return err
	}
	hosts := &table{header: []string{"HOST", "REFUSES FOR", "BECAUSE"}, optional: []string{"REFUSES FOR"}}
	for _, refusal := range e.Hosts {
		hosts.add(cmp.Or(names[refusal.HostID], refusal.HostID), refusal.Reason, refusal.Detail)
	}
	holders := &table{header: []string{"HELD BY", "GROUP", "TEAM", "HOST", "GPUS", "UNTIL"}, optional: []string{"TEAM", "GROUP"}}
	for _, h := range e.Blockers {
		end := "it ends"
		if !h.Until.IsZero() {
			end = h.Until.UTC().Format(time.RFC3339)
		}
		id := h.TaskID
		if s.output != outputWide {
			id = abbreviateID(id)
		}
		holders.add(id, h.Group, cmp.Or(h.Team, "-"), cmp.Or(names[h.HostID], h.HostID), strconv.Itoa(h.GPUs), end)
	}
	for _, t := range []*table{hosts, holders} {
		if len(t.rows) == 0 {
			continue
		}
		fmt.Fprintln(s.out)
		if err := t.write(s.out, s.tableWidth()); err != nil {
			return err
		}
	}
	return nil
}
