package access

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// roleDocument is a role of tasks.
type roleDocument struct {
	Name      string    `json:"name"`
	ARN       string    `json:"arn"`
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Cluster   string    `json:"cluster,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	client.KeyLimits
	InUse client.KeyUse `json:"inUse,omitzero"`
}

// Roles is the command `pinion role`.
func Roles(system invocation.System) *cli.Command {
	list := roleListCommand(system)
	return &cli.Command{
		Name: "role", Aliases: []string{"roles"},
		Usage: "Manage what tasks may do of the pool's API",
		Description: `A task whose definition names a role in taskRoleArn gets access keys of its own, for an hour each, with the rights of the role: the AWS SDKs in
its containers find them, and the pool, by themselves. Who runs such a task needs all rights of the role. A role is made before the task
definitions that name it are registered.

Examples:
   pinion role put --role submit --cluster lab --max-gpus 8 trainer
   pinion role ls
   pinion role rm trainer`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{rolePutCommand(system), list, roleRemoveCommand(system)},
	}
}

func rolePutCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "put",
		Usage:     "Make a role, or change what it may do",
		ArgsUsage: "NAME",
		Description: `The rights are those of 'pinion keys create'. Limits count what all tasks of the role have made together. A change holds for the tasks that run,
at once.

Examples:
   pinion role put --role read watcher
   pinion role put --role submit --cluster lab --max-gpus 8 trainer`,
		Flags: rightsFlags(),
		Action: func(c *cli.Context) error {
			rights, err := keyRights(c)
			if err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			rights.Name = c.Args().First()
			var put roleDocument
			if err := inv.Client.Call(c.Context, "admin/roles", rights, &put); err != nil {
				return err
			}
			if inv.Output == invocation.JSON {
				return inv.PrintJSON(put)
			}
			return inv.PrintTable(roleTable(inv, []roleDocument{put}))
		},
	}
}

func roleListCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List the roles that your key may give to tasks",
		Description: `Those are the roles that may do no more than the key itself.

Examples:
   pinion role ls
   pinion role ls -o json`,
		Flags: append(listing.Flags(), invocation.QuietFlag()),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[roleDocument], error) {
			var roles []listing.Item[roleDocument]
			err := inv.Client.Get(ctx, "/v1/roles", nil, &roles)
			return listing.List[roleDocument]{Items: roles, ID: func(r roleDocument) string { return r.Name }, Table: func(roles []roleDocument) (*table.Table, error) {
				return roleTable(inv, roles), nil
			}}, err
		}),
	}
}

func roleTable(inv *invocation.Invocation, roles []roleDocument) *table.Table {
	t := &table.Table{Header: []string{"NAME", "ROLE", "CLUSTER", "TEAM", "AGE", "LIMITS"}, Optional: []string{"TEAM"}, Empty: "no roles that your key may give to tasks; `pinion role put --role ROLE NAME` makes one"}
	for _, r := range roles {
		t.Add(r.Name, r.Role, cmp.Or(r.Cluster, "all"), strings.Join(r.Teams, ","), format.Age(inv.Now().Sub(r.CreatedAt)), format.KeyLimits(r.KeyLimits, r.InUse))
	}
	return t
}

func roleRemoveCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove roles: the access keys of their tasks end at once",
		ArgsUsage: "NAME...",
		Description: `Task definitions that name the role stay, and give a task nothing, also when another role of the name is made: they are registered again for that.

Examples:
   pinion role rm trainer`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			for _, name := range c.Args().Slice() {
				if err := inv.Client.Call(c.Context, "admin/roles/remove", map[string]string{"name": name}, nil); err != nil {
					return fmt.Errorf("role %q: %w", name, err)
				}
				fmt.Fprintln(inv.Out, name)
			}
			return nil
		},
	}
}
