package access

import (
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/suggest"
	"pinion/api/cli/table"
)

// settingsDocument are the settings of the pool that change while it runs.
type settingsDocument struct {
	Servers      int    `json:"servers"`
	ReplaceAfter string `json:"replaceAfter"`
	LostAfter    string `json:"lostAfter"`
}

// settingNames are the names of the settings for people, as `pinion up` has its options, with those of the API.
var settingNames = map[string]string{"servers": "servers", "replace-after": "replaceAfter", "lost-after": "lostAfter"}

// ShowSettings is the command `pinion pool show`.
func ShowSettings(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "show",
		Usage: "Show the settings of the pool",
		Description: `Examples:
   pinion pool show
   pinion pool show -o json`,
		Action: func(c *cli.Context) error { return PrintSettings(system, c) },
	}
}

// PrintSettings prints the settings that are in force.
func PrintSettings(system invocation.System, c *cli.Context) error {
	inv, err := system.Invoke(c)
	if err != nil {
		return err
	}
	var settings settingsDocument
	if err := inv.Client.Get(c.Context, "/v1/admin/settings", nil, &settings); err != nil {
		return err
	}
	return printSettings(inv, settings)
}

// SetSettings is the command `pinion pool set`.
func SetSettings(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "Change settings of the pool while it runs",
		ArgsUsage: "NAME=VALUE...",
		Description: `Settings are servers (1, 3 or 5: how many hosts are voting servers; the pool chooses which), replace-after (the time after which another
host replaces an unreachable server) and lost-after (the time after which the tasks of an unreachable host are marked STOPPED). The
options of 'pinion up' with these names are for a new pool.

Examples:
   pinion pool set servers=5
   pinion pool set lost-after=2m replace-after=10m`,
		Action: func(c *cli.Context) error {
			changes, err := parseSettings(c.Args().Slice())
			if err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			var settings settingsDocument
			if err := inv.Client.Call(c.Context, "admin/settings", changes, &settings); err != nil {
				return err
			}
			return printSettings(inv, settings)
		},
	}
}

// parseSettings reads NAME=VALUE words.
func parseSettings(given []string) (map[string]any, error) {
	changes, names := map[string]any{}, []string{"servers", "replace-after", "lost-after"}
	for _, word := range given {
		name, value, found := strings.Cut(word, "=")
		member, known := settingNames[name]
		switch {
		case !known && suggest.Nearest(name, names) != "":
			return nil, exit.Usagef("the pool has no setting %q; did you mean %q?", name, suggest.Nearest(name, names))
		case !known:
			return nil, exit.Usagef("the pool has no setting %q; there are %s", name, strings.Join(names, ", "))
		case !found || value == "":
			return nil, exit.Usagef("%s needs a value: %s=VALUE", name, name)
		}
		changes[member] = value
		if member != "servers" {
			span, err := format.ParseSpan(value)
			if err != nil {
				return nil, exit.Usagef("%s=%s is no time such as 90s, 5m or 2d", name, value)
			}
			changes[member] = span.String() // hosts know no days
			continue
		}
		servers, err := strconv.Atoi(value)
		if err != nil || servers != 1 && servers != 3 && servers != 5 {
			return nil, exit.Usagef("servers is 1, 3 or 5, not %q", value)
		}
		changes[member] = servers
	}
	return changes, nil
}

func printSettings(inv *invocation.Invocation, s settingsDocument) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(s)
	}
	t := &table.Table{Header: []string{"SETTING", "VALUE", "MEANING"}}
	t.Add("servers", strconv.Itoa(s.Servers), "hosts that hold the pool's state, where there are as many")
	t.Add("replace-after", short(s.ReplaceAfter), "until another host replaces an unreachable server")
	t.Add("lost-after", short(s.LostAfter), "until the tasks of an unreachable host are marked STOPPED")
	return inv.PrintTable(t)
}

// short is a time without the units that are zero: "5m" for "5m0s".
func short(text string) string {
	if _, err := time.ParseDuration(text); err != nil {
		return text
	}
	if cut, whole := strings.CutSuffix(text, "m0s"); whole {
		text = cut + "m"
	}
	if cut, whole := strings.CutSuffix(text, "h0m"); whole {
		text = cut + "h"
	}
	return text
}
