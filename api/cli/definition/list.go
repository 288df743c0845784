package definition

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
)

// listed is what a list shows of a definition.
type listed struct {
	Family       string    `json:"family"`
	Revision     int       `json:"revision"`
	Revisions    int       `json:"revisions"`
	Clusters     []string  `json:"clusters"` // none: the family is the whole pool's
	Images       []string  `json:"images"`
	GPUs         int       `json:"gpus"`
	RegisteredAt time.Time `json:"registeredAt"`
	RegisteredBy string    `json:"registeredBy"`
}

func listCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage:     "List the families, or the revisions of a family",
		ArgsUsage: "[FAMILY]",
		Description: `Of each family it shows the newest revision that can be run, and how many can be; of one family all that can be run, the newest first. CLUSTER
is who may change the family and run it, "all" for the whole pool.

Examples:
   pinion definition ls
   pinion definition ls trainer
   pinion definition ls --filter gpus=8
   pinion definition ls -q            # names alone, one a line`,
		Flags: append(listing.Flags(), invocation.QuietFlag(), invocation.WatchFlag()),
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return exit.Usagef("pinion definition ls takes one family")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return inv.List(c, func(ctx context.Context, inv *invocation.Invocation) error {
				return list(ctx, c, inv, c.Args().First())
			})
		},
	}
}

// list prints the families, or the revisions of one.
func list(ctx context.Context, c *cli.Context, inv *invocation.Invocation, family string) error {
	items, err := read(ctx, inv, family)
	if err != nil {
		return err
	}
	all := listing.List[listed]{Items: items, ID: func(d listed) string {
		if family == "" {
			return d.Family
		}
		return fmt.Sprintf("%s:%d", d.Family, d.Revision)
	}, Table: func(shown []listed) (*table.Table, error) { return definitionTable(inv, shown, family != ""), nil }}
	return all.Print(c, inv)
}

// read reads all pages of the list.
func read(ctx context.Context, inv *invocation.Invocation, family string) (items []listing.Item[listed], err error) {
	parameters := url.Values{}
	if family != "" {
		parameters.Set("family", family)
	}
	for {
		var page struct {
			Definitions []listing.Item[listed] `json:"definitions"`
			Next        string                 `json:"next"`
		}
		if err := inv.Client.Get(ctx, "/v1/definitions", parameters, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Definitions...)
		if page.Next == "" {
			return items, nil
		}
		parameters.Set("after", page.Next)
	}
}

func definitionTable(inv *invocation.Invocation, definitions []listed, revisions bool) *table.Table {
	t := &table.Table{Header: []string{"FAMILY", "NEWEST", "REVISIONS", "CLUSTER", "GPUS", "REGISTERED", "IMAGE"}, Optional: []string{"REVISIONS", "CLUSTER"},
		Empty: "no task definitions; `pinion register` and `pinion run` make them"}
	if revisions {
		t.Header, t.Optional = []string{"DEFINITION", "CLUSTER", "GPUS", "REGISTERED", "BY", "IMAGE"}, []string{"BY", "CLUSTER"}
		t.Empty = "the family has no revision that can be run; `pinion definition ls` lists the families"
	}
	for _, d := range definitions {
		cluster := cmp.Or(strings.Join(slices.Sorted(slices.Values(d.Clusters)), ","), "all")
		registered := format.Age(inv.Now().Sub(d.RegisteredAt)) + " ago"
		if inv.Output == invocation.Wide {
			registered = inv.Time(d.RegisteredAt)
		}
		images := strings.Join(d.Images, ", ")
		if revisions {
			by := d.RegisteredBy[strings.LastIndexAny(d.RegisteredBy, ":/")+1:]
			t.Add(fmt.Sprintf("%s:%d", d.Family, d.Revision), cluster, strconv.Itoa(d.GPUs), registered, cmp.Or(by, "-"), images)
			continue
		}
		t.Add(d.Family, strconv.Itoa(d.Revision), strconv.Itoa(d.Revisions), cluster, strconv.Itoa(d.GPUs), registered, images)
	}
	return t
}
