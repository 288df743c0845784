package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

func whyCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "why",
		Usage:     "Explain why a task is pending, running or stopped",
		ArgsUsage: "[TASK]",
		Description: `For a pending task: its position in the queue, why each host cannot run it, which tasks hold what it needs and until when, and
its earliest start, as far as time limits are known. For a task that was retried: its next attempt; for a retry: the first
attempt. For a pending group, the first pending task is explained.

Examples:
   pinion why 3f2a91c0
   pinion why --group nightly
   pinion why -o json 3f2a91c0`,
		Flags: []cli.Flag{groupFlag("explain"), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			if err := checkGroup(c); err != nil {
				return err
			}
			if c.NArg() > 1 {
				return exit.Usagef("pinion why takes one task; see pinion why --help")
			}
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			id, err := taskIDToExplain(inv, c)
			if err != nil {
				return err
			}
			return printExplanation(c.Context, inv, id)
		},
	}
}

// taskIDToExplain is the task that a command line names.
func taskIDToExplain(inv *invocation.Invocation, c *cli.Context) (string, error) {
	if group := c.String("group"); group != "" {
		return firstPending(c.Context, inv, c.String("cluster"), group)
	}
	ids, err := inv.ResolveTaskIDs(c.Context, c.String("cluster"), c.Args().Slice())
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// printExplanation explains the task with the id.
func printExplanation(ctx context.Context, inv *invocation.Invocation, id string) error {
	if inv.Output == invocation.JSON {
		return inv.PrintDocument(ctx, client.ExplainPath(id))
	}
	e, err := inv.Client.Explain(ctx, id, false)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(inv.Out, "Task %s is %s. %s\n", e.TaskID, e.Status, e.Summary); err != nil || e.Queue == nil {
		return err
	}
	return printPending(ctx, inv, e)
}

// printPending prints the explanation of a pending task.
func printPending(ctx context.Context, inv *invocation.Invocation, e client.Explanation) error {
	when := e.Estimate
	if e.Earliest != nil {
		when = fmt.Sprintf("%s, %s", e.Earliest.UTC().Format(time.RFC3339), e.Estimate)
	}
	if when != "" {
		fmt.Fprintf(inv.Out, "Earliest start: %s\n", when)
	}
	names, err := inv.HostNames(ctx)
	if err != nil {
		return err
	}
	hosts := &table.Table{Header: []string{"HOST", "REASON", "DETAIL"}, Optional: []string{"REASON"}}
	for _, refusal := range e.Hosts {
		hosts.Add(cmp.Or(names[refusal.HostID], refusal.HostID), refusal.Reason, refusal.Detail)
	}
	holders := &table.Table{Header: []string{"IN USE BY", "GROUP", "TEAM", "HOST", "GPUS", "UNTIL"}, Optional: []string{"TEAM", "GROUP"}}
	for _, h := range e.Blockers {
		end := "unknown"
		if !h.Until.IsZero() {
			end = h.Until.UTC().Format(time.RFC3339)
		}
		id := h.TaskID
		if inv.Output != invocation.Wide {
			id = format.ID(id)
		}
		holders.Add(id, h.Group, cmp.Or(h.Team, "-"), cmp.Or(names[h.HostID], h.HostID), strconv.Itoa(h.GPUs), end)
	}
	for _, t := range []*table.Table{hosts, holders} {
		if t.Len() == 0 {
			continue
		}
		fmt.Fprintln(inv.Out)
		if err := t.Write(inv.Out, inv.TableWidth()); err != nil {
			return err
		}
	}
	return nil
}
