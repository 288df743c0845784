package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/env"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// keyRoles are the roles of access keys, the least first.
var keyRoles = []string{"read", "submit", "admin"}

func keysCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "keys",
		Usage: "Manage access keys of clients",
		Description: `Clients sign their requests with an access key. Its role is read; submit, which also runs and stops tasks and registers task
definitions; or admin, which may do everything. With --cluster the key is limited to that cluster.

Examples:
   pinion keys create --role submit
   pinion keys create --role read --cluster lab
   pinion keys ls
   pinion keys rm AKIAIOSFODNN7EXAMPLE`,
		Subcommands: []*cli.Command{keysCreateCommand(p), keysListCommand(p), keysRemoveCommand(p)},
	}
}

func keysCreateCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "create",
		Usage: "Create an access key and print it",
		Description: `Prints the key as shell exports. The secret cannot be shown again.

Examples:
   pinion keys create --role submit
   pinion keys create --role read --cluster lab -o json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "role", Usage: "`ROLE` of the key: read, submit or admin (required)"},
			&cli.StringFlag{Name: "cluster", Usage: "limit the key to the cluster `NAME`", DefaultText: "all"},
		},
		Action: func(c *cli.Context) error {
			role := c.String("role")
			if role == "" {
				return exit.Usagef("--role is required: one of %s", strings.Join(keyRoles, ", "))
			}
			if !slices.Contains(keyRoles, role) {
				return exit.Usagef("--role %q is not one of %s", role, strings.Join(keyRoles, ", "))
			}
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			created, err := inv.Client.CreateKey(c.Context, role, c.String("cluster"))
			if err != nil {
				return err
			}
			return printKey(inv, created)
		},
	}
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
	if _, err := fmt.Fprint(inv.Out, text); err != nil {
		return err
	}
	inv.Notef("The secret cannot be shown again. `pinion env` prints the endpoint and the CA.")
	return nil
}

func keysListCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ls",
		Usage: "List access keys, without their secrets",
		Description: `Examples:
   pinion keys ls
   pinion keys ls -o json`,
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			if inv.Output == invocation.JSON {
				return inv.PrintDocument(c.Context, "/v1/admin/keys")
			}
			keys, err := inv.Client.Keys(c.Context)
			if err != nil {
				return err
			}
			return keyTable(inv, keys).Write(inv.Out, inv.TableWidth())
		},
	}
}

func keyTable(inv *invocation.Invocation, keys []client.AccessKey) *table.Table {
	t := &table.Table{Header: []string{"ID", "ROLE", "CLUSTER", "AGE", "USE"}}
	for _, key := range keys {
		cluster, use := key.Cluster, ""
		if cluster == "" {
			cluster = "all"
		}
		if key.Hosts {
			use = "pinion env"
		}
		t.Add(key.ID, key.Role, cluster, format.Age(inv.Now().Sub(key.CreatedAt)), use)
	}
	return t
}

func keysRemoveCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove access keys: requests signed with them are refused at once",
		ArgsUsage: "ID...",
		Description: `ID is what 'pinion keys ls' shows. When the key that 'pinion env' prints is removed, each host gets a new one when it
restarts.

Examples:
   pinion keys rm AKIAIOSFODNN7EXAMPLE`,
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
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
