package access

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
)

// poolLimits are the flags of `pinion limits`, with their names in the API.
var poolLimits = []struct{ flag, name, usage string }{
	{"tasks", "tasks", "at most `N` tasks that are not STOPPED"},
	{"waiting", "waiting", "at most `N` tasks that wait for a place"},
	{"revisions", "revisions", "at most `N` revisions of all task definitions"},
	{"revisions-of-family", "revisionsOfFamily", "at most `N` revisions of each family"},
}

// limitDocument is one limit of the pool, and what there is of it; nil where each object has the limit to itself.
type limitDocument struct {
	Limit int  `json:"limit"`
	Used  *int `json:"used,omitempty"`
}

// limitsDocument are the limits of the pool.
type limitsDocument struct {
	Tasks             limitDocument `json:"tasks"`
	Waiting           limitDocument `json:"waiting"`
	Revisions         limitDocument `json:"revisions"`
	RevisionsOfFamily limitDocument `json:"revisionsOfFamily"`
}

// Limits is the command `pinion limits`.
func Limits(system invocation.System) *cli.Command {
	var flags []cli.Flag
	for _, limit := range poolLimits {
		flags = append(flags, &cli.IntFlag{Name: limit.flag, DefaultText: "unchanged", Usage: limit.usage})
	}
	return &cli.Command{
		Name:  "limits",
		Usage: "Show or change how much the whole pool may hold",
		Description: `The limits keep one client from filling the memory of every server. What would go beyond them is refused with
LimitExceededException. Limits of one access key are given when it is made: pinion keys create --help.

Examples:
   pinion limits
   pinion limits --waiting 800000`,
		Flags: flags,
		Action: func(c *cli.Context) error {
			changes := map[string]int{}
			for _, limit := range poolLimits {
				if !c.IsSet(limit.flag) {
					continue
				}
				if changes[limit.name] = c.Int(limit.flag); changes[limit.name] < 1 {
					return exit.Usagef("--%s is 1 or more, not %d", limit.flag, changes[limit.name])
				}
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			var limits limitsDocument
			if len(changes) > 0 {
				err = inv.Client.Call(c.Context, "admin/limits", changes, &limits)
			} else {
				err = inv.Client.Get(c.Context, "/v1/admin/limits", nil, &limits)
			}
			if err != nil {
				return err
			}
			return printLimits(inv, limits)
		},
	}
}

func printLimits(inv *invocation.Invocation, limits limitsDocument) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(limits)
	}
	t := &table.Table{Header: []string{"LIMIT", "USED", "AT MOST"}}
	for i, limit := range []limitDocument{limits.Tasks, limits.Waiting, limits.Revisions, limits.RevisionsOfFamily} {
		used := "-"
		if limit.Used != nil {
			used = strconv.Itoa(*limit.Used)
		}
		t.Add(poolLimits[i].flag, used, strconv.Itoa(limit.Limit))
	}
	return inv.PrintTable(t)
}
