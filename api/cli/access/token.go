package access

import (
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

// Tokens is the command `pinion token`.
func Tokens(system invocation.System) *cli.Command {
	command, create := tokenCreateCommand(system), tokenCreateCommand(system)
	command.Name, create.Name = "token", "create"
	command.Subcommands = []*cli.Command{create, tokenListCommand(system), tokenRevokeCommand(system)}
	return command
}

// tokenCreateCommand is `pinion token` and `pinion token create`.
func tokenCreateCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Usage: "Create a join token for another machine",
		Description: `Prints a token for 'pinion up --join'. It contains the fingerprint of the pool's CA, with which the new host verifies the pool
before it sends anything, and a secret: treat it like a password until it is used up or has expired. It lets one host in within an
hour, into the default cluster, unless the flags say otherwise.

Examples:
   ssh root@gpu-1 pinion token | sudo pinion up --join gpu-1 --token-file -
   pinion token --uses 20 --ttl 30m    # for a rack of machines
   pinion token --cluster lab          # what joins with it runs tasks of this cluster
   pinion token --role agent           # whoever is root there never gets the state of the pool
   pinion token ls
   pinion token revoke 7k2m`,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "ttl", DefaultText: "1h", Usage: "`TIME` until it expires, such as 30m or 24h"},
			&cli.IntFlag{Name: "uses", DefaultText: "1", Usage: "number of hosts, `N`, that may join with it"},
			&cli.StringFlag{Name: "cluster", DefaultText: "default", Usage: "`NAME` of the cluster whose tasks they run"},
			&cli.StringFlag{Name: "role", Value: jointoken.RoleHost, Usage: "`ROLE` of what joins with it: host, or agent, which never becomes a server"},
		},
		Action: func(c *cli.Context) error {
			if c.IsSet("uses") && c.Int("uses") < 1 || c.IsSet("ttl") && c.Duration("ttl") <= 0 {
				return exit.Usagef("--uses and --ttl must be more than 0")
			}
			if cluster := c.String("cluster"); cluster != "" && !spec.ValidName(cluster) {
				return exit.Usagef("--cluster %q is not a cluster name: 1 to 255 letters, digits, - and _", cluster)
			}
			if role := c.String("role"); role != jointoken.RoleHost && role != jointoken.RoleAgent {
				return exit.Usagef("--role %q: the role of a token is host or agent", role)
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			created, err := inv.Client.CreateJoinToken(c.Context, c.Duration("ttl"), c.Int("uses"), c.String("role"), c.String("cluster"))
			if err != nil {
				return err
			}
			return printToken(inv, created)
		},
	}
}

// printToken prints the token alone, for scripts, and how to use it as a note for people.
func printToken(inv *invocation.Invocation, created client.CreatedJoinToken) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(created)
	}
	if _, err := fmt.Fprintln(inv.Out, created.Token); err != nil {
		return err
	}
	if created.Join != "" {
		inv.Notef("On the machine that joins: sudo pinion up --join %s --token-file FILE   # a file with the token, or - to paste it", created.Join)
	}
	return nil
}

func tokenListCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List join tokens, without their secrets",
		Description: `Examples:
   pinion token ls
   pinion token ls -o json`,
		Flags: append(listing.Flags(), invocation.QuietFlag()),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.JoinToken], error) {
			var tokens []listing.Item[client.JoinToken]
			err := inv.Client.Get(ctx, "/v1/admin/tokens", nil, &tokens)
			return listing.List[client.JoinToken]{Items: tokens, ID: func(t client.JoinToken) string { return t.ID }, Table: func(tokens []client.JoinToken) (*table.Table, error) {
				return tokenTable(inv, tokens), nil
			}}, err
		}),
	}
}

func tokenTable(inv *invocation.Invocation, tokens []client.JoinToken) *table.Table {
	t := &table.Table{Header: []string{"ID", "CLUSTER", "USED", "AGE", "EXPIRES"}, Empty: "no join tokens; `pinion token` makes one"}
	for _, token := range tokens {
		expires := "expired"
		if left := token.Expires.Sub(inv.Now()); left > 0 {
			expires = "in " + format.Age(left)
		}
		t.Add(token.ID, token.Cluster, strconv.Itoa(token.Used)+"/"+strconv.Itoa(token.Uses), format.Age(inv.Now().Sub(token.CreatedAt)), expires)
	}
	return t
}

func tokenRevokeCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "revoke", Aliases: []string{"rm"},
		Usage:     "Revoke join tokens; hosts that have joined stay",
		ArgsUsage: "ID...",
		Description: `ID is what 'pinion token ls' shows.

Examples:
   pinion token revoke 7k2m`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			for _, id := range c.Args().Slice() {
				if err := inv.Client.RevokeJoinToken(c.Context, id); err != nil {
					return fmt.Errorf("token %s: %w", id, err)
				}
				fmt.Fprintln(inv.Out, id)
			}
			return nil
		},
	}
}
