package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

// keyRoles are the roles of access keys, the least first.
var keyRoles = []string{"read", "submit", "admin"}

func keysCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "keys",
		Usage: "make, list and remove the access keys that clients sign with",
		Description: `A key has a role: read looks; submit also runs and stops tasks and registers task definitions; admin may do everything.
With --cluster it is for that cluster alone.

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
		Usage: "make an access key and print it; its secret is shown this once",
		Description: `Prints the key as shell exports. Whoever has the secret may do what the role allows, until the key is removed.

Examples:
   pinion keys create --role submit
   pinion keys create --role read --cluster lab -o json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "role", Usage: "`ROLE` of the key: read, submit or admin (needed)"},
			&cli.StringFlag{Name: "cluster", Usage: "the only cluster that the key is for, by `NAME`", DefaultText: "all"},
		},
		Action: func(c *cli.Context) error {
			role := c.String("role")
			if !slices.Contains(keyRoles, role) {
				return usageErrorf("--role %q is not one of %s", role, strings.Join(keyRoles, ", "))
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			created, err := s.client.CreateKey(c.Context, role, c.String("cluster"))
			if err != nil {
				return err
			}
			return s.printKey(created)
		},
	}
}

// printKey prints what a client needs of a key, so that it can be pasted or evaluated; the warning goes to people.
func (s *session) printKey(created client.CreatedKey) error {
	if s.output == outputJSON {
		return printJSON(s.out, created)
	}
	text, err := shellCommands([]envVar{
		{Name: "AWS_ACCESS_KEY_ID", Value: created.ID},
		{Name: "AWS_SECRET_ACCESS_KEY", Value: created.Secret},
	}, "sh")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(s.out, text); err != nil {
		return err
	}
	s.notef("The secret is shown this once. The endpoint and the CA are the ones of `pinion env`.")
	return nil
}

func keysListCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ls",
		Usage: "list access keys, without their secrets",
		Description: `Examples:
   pinion keys ls
   pinion keys ls -o json`,
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			if s.output == outputJSON {
				return s.printDocument(c.Context, "/v1/admin/keys")
			}
			keys, err := s.client.Keys(c.Context)
			if err != nil {
				return err
			}
			return s.keyTable(keys).write(s.out, s.tableWidth())
		},
	}
}

func (s *session) keyTable(keys []client.AccessKey) *table {
	t := &table{header: []string{"ID", "ROLE", "CLUSTER", "AGE", "USE"}}
	for _, key := range keys {
		cluster, use := key.Cluster, ""
		if cluster == "" {
			cluster = "all"
		}
		if key.Hosts {
			use = "pinion env"
		}
		t.add(key.ID, key.Role, cluster, formatAge(s.now().Sub(key.CreatedAt)), use)
	}
	return t
}

func keysRemoveCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "remove access keys: what is signed with them is refused from now on",
		ArgsUsage: "ID...",
		Description: `ID is what 'pinion keys ls' shows. When the key that 'pinion env' prints is removed, each host gets another one when it is
restarted.

Examples:
   pinion keys rm AKIAIOSFODNN7EXAMPLE`,
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			for _, id := range c.Args().Slice() {
				if err := s.client.RemoveKey(c.Context, id); err != nil {
					return fmt.Errorf("access key %s: %w", id, err)
				}
				fmt.Fprintln(s.out, id)
			}
			return nil
		},
	}
}
