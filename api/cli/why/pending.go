package why

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// printPending prints the explanation of a pending task.
func printPending(ctx context.Context, inv *invocation.Invocation, e client.Explanation) error {
	when := e.Estimate
	if e.Earliest != nil {
		when = fmt.Sprintf("%s, %s", inv.Time(*e.Earliest), e.Estimate)
	}
	if when != "" {
		printWrapped(inv, "Earliest start: "+when)
	}
	names, err := inv.HostNames(ctx)
	if err != nil {
		return err
	}
	hosts := refusalTable(e.Hosts, names)
	holders := &table.Table{Header: []string{"IN USE BY", "GROUP", "TEAM", "HOST", "GPUS", "UNTIL"}, Optional: []string{"TEAM", "GROUP"}}
	for _, h := range e.Blockers {
		end := "unknown"
		if !h.Until.IsZero() {
			end = inv.Time(h.Until)
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
		if err := inv.PrintTable(t); err != nil {
			return err
		}
	}
	return nil
}

// refusalTable has a row for each reason, however many hosts have it.
func refusalTable(refusals []client.Refusal, names map[string]string) *table.Table {
	type reason struct{ kind, detail string }
	var order []reason
	hosts := map[reason][]string{}
	for _, r := range refusals {
		why := reason{r.Reason, format.Options(r.Detail)}
		if !slices.Contains(order, why) {
			order = append(order, why)
		}
		hosts[why] = append(hosts[why], cmp.Or(names[r.HostID], r.HostID))
	}
	t := &table.Table{Header: []string{"HOST", "REASON", "DETAIL"}, Optional: []string{"REASON"}}
	for _, why := range order {
		who := hosts[why][0]
		if n := len(hosts[why]); n > 1 {
			who = format.Plural(n, "host")
		}
		t.Add(who, why.kind, why.detail)
	}
	return t
}
