// Package daemon is `pinion daemon`: it shows ECS's daemons.
package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// Command is `pinion daemon`.
func Command(system invocation.System) *cli.Command {
	list := listCommand(system)
	return &cli.Command{
		Name: "daemon", Aliases: []string{"daemons"},
		Usage: "Show daemons: one task on each host of a cluster",
		Description: `A daemon of ECS keeps one task on each active host of a cluster. The AWS CLI creates, updates and deletes it.

Examples:
   pinion daemon ls
   pinion daemon inspect agent`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{listCommand(system), inspectCommand(system)},
	}
}

func listCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List daemons with their hosts and rollouts",
		Description: `HOSTS is on how many hosts a task runs of on how many one is to. ROLLOUT is "steady", or how many tasks of the newest
revision run, and how many old ones are left.

Examples:
   pinion daemon ls
   pinion daemon ls --watch
   pinion daemon ls --filter name='log*' -o json`,
		Flags:  append(listing.Flags(), invocation.QuietFlag(), invocation.WatchFlag(), invocation.ClusterFlag()),
		Action: listing.Action(system, list),
	}
}

func list(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[daemon], error) {
	cluster := c.String("cluster")
	arns, err := client.DaemonARNs(ctx, inv.Client, cluster)
	if err != nil {
		return listing.List[daemon]{}, err
	}
	daemons, err := describe(ctx, inv, arns)
	if err != nil {
		return listing.List[daemon]{}, err
	}
	return listing.List[daemon]{
		Items: daemons, ID: func(d daemon) string { return d.Name() }, Fields: map[string]func(daemon) []string{"name": func(d daemon) []string { return []string{d.Name()} }},
		Table: func(shown []daemon) (*table.Table, error) { return tableOf(inv, shown, cluster), nil },
	}, nil
}

// daemon is a daemon with the daemon task definition of the revision that it is to be.
type daemon struct {
	client.Daemon
	Definition string `json:"daemonTaskDefinitionArn"`
}

// describe reads daemons. Their JSON is what DescribeDaemon answers, with the definition.
func describe(ctx context.Context, inv *invocation.Invocation, arns []string) ([]listing.Item[daemon], error) {
	documents := make([]map[string]json.RawMessage, len(arns))
	found := make([]client.Daemon, len(arns))
	var revisions []string
	for i, arn := range arns {
		var out struct {
			Daemon listing.Item[client.Daemon] `json:"daemon"`
		}
		if err := inv.Client.Call(ctx, "DescribeDaemon", map[string]any{"daemonArn": arn}, &out); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(out.Daemon.JSON, &documents[i]); err != nil {
			return nil, err
		}
		if found[i] = out.Daemon.Value; len(found[i].Revisions) > 0 {
			revisions = append(revisions, found[i].Revisions[0].ARN)
		}
	}
	definitions, err := client.DaemonDefinitions(ctx, inv.Client, revisions)
	if err != nil {
		return nil, err
	}
	items := make([]listing.Item[daemon], len(arns))
	for i := range items {
		d := daemon{Daemon: found[i]}
		if len(d.Revisions) > 0 {
			d.Definition = definitions[d.Revisions[0].ARN]
		}
		documents[i]["daemonTaskDefinitionArn"], _ = json.Marshal(d.Definition) // a string
		text, err := json.Marshal(documents[i])
		if err != nil {
			return nil, err
		}
		items[i] = listing.Item[daemon]{Value: d, JSON: text}
	}
	return items, nil
}

func tableOf(inv *invocation.Invocation, daemons []daemon, cluster string) *table.Table {
	t := &table.Table{Header: []string{"NAME", "HOSTS", "DEFINITION", "AGE", "ROLLOUT"}, Optional: []string{"AGE"},
		Empty: "no daemons in cluster " + cluster + "; `aws ecs create-daemon` makes one"}
	for _, d := range daemons {
		running, wanted := d.Hosts()
		t.Add(d.Name(), strconv.Itoa(running)+"/"+strconv.Itoa(wanted), client.ResourceID(d.Definition), format.Age(inv.Now().Sub(d.CreatedAt.Time)), rolloutOf(&d.Daemon))
	}
	return t
}

// rolloutOf is how far the newest revision of a daemon has got.
func rolloutOf(d *client.Daemon) string {
	if d.Status != "ACTIVE" || len(d.Revisions) == 0 {
		return d.Status
	}
	running, wanted := d.Hosts()
	newest := d.Revisions[0].Running
	if newest == wanted && len(d.Revisions) == 1 {
		return "steady"
	}
	text := fmt.Sprintf("%d of %d new", newest, wanted)
	if old := running - newest; old > 0 {
		text += fmt.Sprintf(", %d old", old)
	}
	return text
}

func inspectCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "Show daemons as JSON",
		ArgsUsage: "DAEMON...",
		Description: `Shows what DescribeDaemon answers, with 'daemonTaskDefinitionArn', the definition of the newest revision.

Examples:
   pinion daemon inspect agent
   pinion daemon inspect agent | jq '.[].currentRevisions'`,
		Flags: []cli.Flag{invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return inspect(c.Context, inv, c.String("cluster"), c.Args().Slice())
		},
	}
}

func inspect(ctx context.Context, inv *invocation.Invocation, cluster string, names []string) error {
	all, err := client.DaemonARNs(ctx, inv.Client, cluster)
	if err != nil {
		return err
	}
	var arns []string
	for _, name := range names {
		at := slices.IndexFunc(all, func(arn string) bool { return client.ResourceID(arn) == client.ResourceID(name) })
		if at < 0 {
			return fmt.Errorf("cluster %s has no daemon %s; `pinion daemon ls` lists them", cluster, name)
		}
		arns = append(arns, all[at])
	}
	daemons, err := describe(ctx, inv, arns)
	if err != nil {
		return err
	}
	return inv.PrintJSON(daemons)
}
