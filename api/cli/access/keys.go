package access

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/env"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// keyRoles are the roles of access keys, the least first.
var keyRoles = []string{"read", "submit", "admin"}

// Keys is the command `pinion key`.
func Keys(system invocation.System) *cli.Command {
	list := keysListCommand(system)
	return &cli.Command{
		Name: "key", Aliases: []string{"keys"},
		Usage: "Manage access keys of clients",
		Description: `Clients sign their requests with an access key. Its role is read; submit, which also runs and stops tasks and registers task
definitions; or admin, which may do everything. With --cluster the key is limited to those clusters, and to the task definitions that
keys of them have registered or that are shared with them (the tag pinion.share of a task definition names clusters).

Examples:
   pinion keys create --role submit
   pinion keys create --role read --cluster lab
   pinion keys create --role submit --cluster lab --team vision --max-priority 10 --max-gpus 8
   pinion keys ls
   pinion keys rm AKIAIOSFODNN7EXAMPLE
   pinion keys rotate`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{keysCreateCommand(system), keysListCommand(system), keysRemoveCommand(system), keysRotateCommand(system)},
	}
}

func keysCreateCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "create",
		Usage: "Create an access key and print it",
		Description: `Prints the key as shell exports, and as a connection string for 'pinion login' on another machine. The secret cannot be shown again. A limit counts what was made with this key;
what would go beyond it is refused.

Examples:
   pinion keys create --role submit --name ci
   pinion keys create --role read --cluster lab,vision -o json
   pinion keys create --role submit --team vision --max-priority 10 --max-gpus 8 --max-waiting 1000`,
		Flags: append([]cli.Flag{&cli.StringFlag{Name: "name", Usage: "`NAME` of what the key is for, such as ci: 'pinion key ls' and 'pinion whoami' show it"}}, rightsFlags()...),
		Action: func(c *cli.Context) error {
			rights, err := keyRights(c)
			if err != nil {
				return err
			}
			rights.Name = c.String("name")
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			created, err := inv.Client.CreateKey(c.Context, rights)
			if err != nil {
				return err
			}
			connection, err := connectionWith(c.Context, inv, invocation.GlobalFlag(c, "host"), created)
			if err != nil {
				inv.Notef("There is no connection string for it: %v", err)
			}
			created.Connection = connection
			return printKey(inv, created)
		},
	}
}

// rightsFlags say what a key may do.
func rightsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "role", Usage: "`ROLE` of the key: read, submit or admin (required)"},
		&cli.StringFlag{Name: "cluster", Usage: "limit the key to the cluster `NAME`, or to several with commas between", DefaultText: "all"},
		&cli.StringSliceFlag{Name: "team", Usage: "limit the key to the tasks of the team `NAME`; may be repeated", DefaultText: "all"},
		&cli.IntFlag{Name: "max-priority", Usage: "highest `PRIORITY` of its tasks, 0 to 100", DefaultText: "100"},
		&cli.IntFlag{Name: "max-tasks", Usage: "at most `N` tasks that are not STOPPED", DefaultText: "no limit"},
		&cli.IntFlag{Name: "max-waiting", Usage: "at most `N` tasks that wait for a place", DefaultText: "no limit"},
		&cli.IntFlag{Name: "max-gpus", Usage: "at most `N` GPUs that its tasks hold or wait for", DefaultText: "no limit"},
		&cli.IntFlag{Name: "max-revisions", Usage: "at most `N` revisions of task definitions", DefaultText: "no limit"},
		&cli.IntFlag{Name: "max-requests", Usage: "at most `N` requests a second at each server", DefaultText: "no limit"},
	}
}

// keyLimits are the limits that the flags ask for.
func keyLimits(c *cli.Context) (client.KeyLimits, error) {
	l := client.KeyLimits{Teams: c.StringSlice("team")}
	for flag, limit := range map[string]*int{
		"max-tasks": &l.MaxTasks, "max-waiting": &l.MaxWaiting, "max-revisions": &l.MaxRevisions, "max-requests": &l.RequestsPerSecond,
	} {
		if *limit = c.Int(flag); c.IsSet(flag) && *limit < 1 {
			return l, exit.Usagef("--%s is 1 or more, not %d: without it there is no such limit", flag, *limit)
		}
	}
	for flag, limit := range map[string]**int{"max-priority": &l.MaxPriority, "max-gpus": &l.MaxGPUs} {
		if value := c.Int(flag); c.IsSet(flag) {
			*limit = &value
		}
	}
	return l, nil
}

// printKey prints a key as shell exports, and a note for people.
func printKey(inv *invocation.Invocation, created client.CreatedKey) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(created)
	}
	text, err := env.ShellCommands([]env.Variable{
		{Name: "AWS_ACCESS_KEY_ID", Value: created.ID},
		{Name: "AWS_SECRET_ACCESS_KEY", Value: created.Secret},
	}, "sh")
	if err != nil {
		return err
	}
	if created.Connection != "" {
		text += "# " + created.Connection + "\n"
	}
	if _, err := fmt.Fprint(inv.Out, text); err != nil {
		return err
	}
	if s, err := client.ParseConnectionString(created.Connection); err == nil && isLoopback(s.Host) {
		inv.Notef("The connection string is for this machine alone, as its host is reached by %s: --host HOST[:PORT] names another host, `pinion up --advertise HOST:PORT` gives this one another address.", s.Host)
	} else if created.Connection != "" {
		inv.Notef("On another machine `pinion login -` asks for the line that begins with %s, without the #.", client.ConnectionScheme)
	}
	if created.Cluster != "" && created.Role == "submit" {
		inv.Notef("It runs the task definitions that keys for %s have registered. Those of keys for all clusters it does not see, unless their tag pinion.share names a cluster of it: pinion.share=%s.", created.Cluster, strings.Split(created.Cluster, ",")[0])
	}
	inv.Notef("The secret cannot be shown again. `pinion env` prints the endpoint and the CA.")
	return nil
}

func keysListCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List access keys, without their secrets",
		Description: `Examples:
   pinion keys ls
   pinion keys ls --filter role=admin
   pinion keys ls -o json`,
		Flags: append(listing.Flags(), invocation.QuietFlag()),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.AccessKey], error) {
			var keys []listing.Item[client.AccessKey]
			err := inv.Client.Get(ctx, "/v1/admin/keys", nil, &keys)
			return listing.List[client.AccessKey]{Items: keys, ID: func(k client.AccessKey) string { return k.ID }, Table: func(keys []client.AccessKey) (*table.Table, error) {
				return keyTable(inv, keys), nil
			}}, err
		}),
	}
}

func keyTable(inv *invocation.Invocation, keys []client.AccessKey) *table.Table {
	t := &table.Table{Header: []string{"ID", "ROLE", "CLUSTER", "TEAM", "AGE", "USE", "LIMITS"}, Optional: []string{"TEAM", "USE"}, Empty: "no access keys; `pinion key create --role ROLE` makes one"}
	for _, key := range keys {
		cluster, use := cmp.Or(key.Cluster, "all"), key.Name
		if key.HostID != "" {
			use = fmt.Sprintf("host %.8s", key.HostID)
		}
		if key.Login != nil {
			use = fmt.Sprintf("%s until %s", key.Login.Person, inv.Time(key.Login.ExpiresAt))
		}
		t.Add(key.ID, key.Role, cluster, strings.Join(key.Teams, ","), format.Age(inv.Now().Sub(key.CreatedAt)), use, format.KeyLimits(key.KeyLimits, key.InUse))
	}
	return t
}

// personLimits are the limits that each person of a group gets. What they use is counted for each of them, so it is not shown.
func personLimits(limits client.KeyLimits) string {
	var all []string
	add := func(limit int, what string) {
		if limit > 0 {
			all = append(all, format.Plural(limit, what))
		}
	}
	if limits.MaxGPUs != nil {
		all = append(all, format.Plural(*limits.MaxGPUs, "GPU"))
	}
	add(limits.MaxTasks, "task")
	add(limits.MaxWaiting, "waiting task")
	add(limits.MaxRevisions, "revision")
	if limits.MaxPriority != nil {
		all = append(all, fmt.Sprintf("priority %d", *limits.MaxPriority))
	}
	if limits.RequestsPerSecond > 0 {
		all = append(all, fmt.Sprintf("%d requests/s", limits.RequestsPerSecond))
	}
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}

func keysRemoveCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove access keys: requests signed with them are refused at once",
		ArgsUsage: "ID...",
		Description: `ID is what 'pinion keys ls' shows. A host whose own key is removed, which 'pinion env' prints there, gets another one
when it restarts; 'pinion hosts rm' ends the key with the host.

Examples:
   pinion keys rm AKIAIOSFODNN7EXAMPLE`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			for _, id := range c.Args().Slice() {
				if err := inv.Client.RemoveKey(c.Context, id); err != nil {
					return fmt.Errorf("access key %s: %w", id, err)
				}
				fmt.Fprintln(inv.Out, id)
			}
			return nil
		},
	}
}
