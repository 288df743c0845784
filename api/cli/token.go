package cli

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func tokenCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "token",
		Usage: "make a join token, which lets another machine join this pool",
		Description: `Prints a token for 'pinion up --join'. It holds the fingerprint of the pool's CA, so that the new host knows the right
pool before it sends anything, and a secret: treat it like a password until it is used up or has expired.

Examples:
   pinion token
   pinion token --uses 20 --ttl 1h     # for a rack of machines
   pinion token ls
   pinion token revoke 7k2m`,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "ttl", DefaultText: "the pool's", Usage: "`TIME` until it expires, such as 30m or 24h"},
			&cli.IntFlag{Name: "uses", DefaultText: "the pool's", Usage: "`N` hosts that may join with it"},
			&cli.StringFlag{Name: "role", Value: "host", Usage: "what joins with it: host"},
		},
		Subcommands: []*cli.Command{tokenListCommand(p), tokenRevokeCommand(p)},
		Action: func(c *cli.Context) error {
			if c.Int("uses") < 0 || c.Duration("ttl") < 0 {
				return usageErrorf("--uses and --ttl are more than 0")
			}
			if role := c.String("role"); role != "host" {
				return usageErrorf("--role %q: there are tokens for a host, and no others", role)
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			created, err := s.client.CreateToken(c.Context, c.Duration("ttl"), c.Int("uses"), c.String("role"))
			if err != nil {
				return err
			}
			return s.printToken(created)
		},
	}
}

// printToken prints the token alone, so that a script can take it; how to use it goes to people.
func (s *session) printToken(created client.CreatedToken) error {
	if s.output == outputJSON {
		return printJSON(s.out, created)
	}
	if _, err := fmt.Fprintln(s.out, created.Token); err != nil {
		return err
	}
	if created.Join != "" {
		s.notef("On the machine that joins: sudo pinion up --join %s --token %s", created.Join, created.Token)
	}
	return nil
}

func tokenListCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "ls",
		Usage: "list join tokens, without their secrets",
		Description: `Examples:
   pinion token ls
   pinion token ls -o json`,
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			if s.output == outputJSON {
				return s.printDocument(c.Context, "/v1/admin/tokens")
			}
			tokens, err := s.client.Tokens(c.Context)
			if err != nil {
				return err
			}
			return s.tokenTable(tokens).write(s.out, s.tableWidth())
		},
	}
}

func (s *session) tokenTable(tokens []client.JoinToken) *table {
	t := &table{header: []string{"ID", "ROLE", "USED", "AGE", "EXPIRES"}}
	for _, token := range tokens {
		expires := "expired"
		if left := token.Expires.Sub(s.now()); left > 0 {
			expires = "in " + formatAge(left)
		}
		t.add(token.ID, token.Role, strconv.Itoa(token.Used)+"/"+strconv.Itoa(token.Uses), formatAge(s.now().Sub(token.CreatedAt)), expires)
	}
	return t
}

func tokenRevokeCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "end join tokens; hosts that have joined stay",
		ArgsUsage: "ID...",
		Description: `ID is what 'pinion token ls' shows.

Examples:
   pinion token revoke 7k2m`,
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			for _, id := range c.Args().Slice() {
				if err := s.client.RevokeToken(c.Context, id); err != nil {
					return fmt.Errorf("token %s: %w", id, err)
				}
				fmt.Fprintln(s.out, id)
			}
			return nil
		},
	}
}
