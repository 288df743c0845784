// Package secret is `pinion secret`: it puts, shows, lists and removes the secrets that a pool keeps for its tasks.
package secret

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// Command is the command `pinion secret`.
func Command(system invocation.System) *cli.Command {
	list := listCommand(system)
	return &cli.Command{
		Name: "secret", Aliases: []string{"secrets"},
		Usage: "Keep passwords, keys and certificates for tasks",
		Description: `The pool keeps secrets sealed, and gives them to the tasks whose definition names them ('pinion run --secret'). They are those of the API of
AWS Secrets Manager, so the AWS CLI and SDKs work with them, too. Parameters of Parameter Store are written with the AWS CLI: 'aws ssm put-parameter'.

Examples:
   printf %s "$TOKEN" | pinion secret put hf-token
   pinion secret put tls-key --file server.key --for-cluster web
   pinion run --secret HF_TOKEN=hf-token my/trainer
   pinion secret ls
   pinion secret rm hf-token`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{
			putCommand(system), getCommand(system), listCommand(system), versionsCommand(system), removeCommand(system), restoreCommand(system),
		},
	}
}

func listCommand(system invocation.System) *cli.Command {
	all := &cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also those that were removed and can still be restored"}
	quiet := &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "only the names, one a line"}
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List secrets, without their values",
		Description: `Examples:
   pinion secret ls
   pinion secret ls --all
   pinion secret ls --filter clusters=lab -o json`,
		Flags: append([]cli.Flag{all, quiet}, listing.Flags()...),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.Secret], error) {
			secrets, err := client.Secrets[listing.Item[client.Secret]](ctx, inv.Client, c.Bool("all"))
			return listing.List[client.Secret]{Items: secrets, ID: func(s client.Secret) string { return s.Name }, Table: func(secrets []client.Secret) (*table.Table, error) {
				return secretTable(inv, secrets, c.Bool("all")), nil
			}}, err
		}),
	}
}

// secretTable shows secrets, with removed also which of them were.
func secretTable(inv *invocation.Invocation, secrets []client.Secret, removed bool) *table.Table {
	t := &table.Table{Header: []string{"NAME", "CLUSTERS", "TEAMS", "CHANGED", "DESCRIPTION"}, Optional: []string{"CHANGED", "TEAMS", "CLUSTERS"}, Empty: "no secrets; `pinion secret put NAME` makes one"}
	if removed {
		t.Header = []string{"NAME", "CLUSTERS", "TEAMS", "CHANGED", "REMOVED", "DESCRIPTION"}
	}
	for _, s := range secrets {
		row := []string{s.Name, cmp.Or(strings.Join(s.Clusters, ","), "all"), cmp.Or(strings.Join(s.Teams, ","), "all"), format.Age(inv.Now().Sub(s.ChangedAt.Time))}
		if removed {
			row = append(row, removedFor(inv, s))
		}
		t.Add(append(row, s.Description)...)
	}
	return t
}

// removedFor is how long ago a secret was removed.
func removedFor(inv *invocation.Invocation, s client.Secret) string {
	if s.DeletedAt.IsZero() {
		return "-"
	}
	return format.Age(inv.Now().Sub(s.DeletedAt.Time))
}

func versionsCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "versions",
		Usage:     "List the versions of a secret, without their values",
		ArgsUsage: "NAME",
		Description: `The newest version is the first. Tasks get the one with the stage AWSCURRENT unless they name another; the one before it is AWSPREVIOUS. The
oldest versions without a stage go when there are many.

Examples:
   pinion secret versions hf-token
   pinion secret get hf-token --stage AWSPREVIOUS`,
		Flags: append([]cli.Flag{invocation.QuietFlag()}, listing.Flags()...),
		Action: func(c *cli.Context) error {
			inv, name, err := invoke(system, c)
			if err != nil {
				return err
			}
			versions, err := client.SecretVersions[listing.Item[client.SecretVersion]](c.Context, inv.Client, name)
			if err != nil {
				return about(name, err)
			}
			slices.SortStableFunc(versions, func(a, b listing.Item[client.SecretVersion]) int {
				return b.Value.CreatedAt.Compare(a.Value.CreatedAt.Time)
			})
			return listing.List[client.SecretVersion]{Items: versions, ID: func(v client.SecretVersion) string { return v.ID }, Table: func(versions []client.SecretVersion) (*table.Table, error) {
				t := &table.Table{Header: []string{"VERSION", "AGE", "STAGES"}, Empty: "no versions; `pinion secret put " + name + "` puts one"}
				for _, v := range versions {
					t.Add(v.ID, format.Age(inv.Now().Sub(v.CreatedAt.Time)), strings.Join(v.Stages, ","))
				}
				return t, nil
			}}.Print(c, inv)
		},
	}
}
