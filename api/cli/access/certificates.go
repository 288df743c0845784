package access

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// Certificates is the command `pinion certificate`.
func Certificates(system invocation.System) *cli.Command {
	list := certificateListCommand(system)
	return &cli.Command{
		Name: "certificate", Aliases: []string{"certificates"},
		Usage: "List and remove the ACME certificates of listeners",
		Description: `Hosts order them by themselves for listeners with the certificate acme/DNSNAME (pinion up --acme), share them, and renew them.

Examples:
   pinion certificate ls
   pinion certificate rm www.example.org`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{certificateListCommand(system), certificateRemoveCommand(system)},
	}
}

func certificateListCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List the pool's ACME certificates and its ACME account",
		Description: `KIND is "certificate", "account", or "challenge", which is the answer to the CA while a certificate is being ordered.

Examples:
   pinion certificate ls
   pinion certificate ls -o json`,
		Flags: append(listing.Flags(), invocation.QuietFlag()),
		Action: listing.Action(system, func(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.Certificate], error) {
			all, err := client.Certificates[listing.Item[client.Certificate]](ctx, inv.Client)
			return listing.List[client.Certificate]{Items: all, ID: func(v client.Certificate) string { return v.Name }, Table: func(shown []client.Certificate) (*table.Table, error) {
				t := &table.Table{Header: []string{"NAME", "KIND", "SINCE"}, Empty: "no ACME certificates; a listener with the certificate acme/DNSNAME has one ordered"}
				for _, v := range shown {
					t.Add(format.Plain(v.Name), v.Kind, v.PutAt.Local().Format(time.DateTime))
				}
				return t, nil
			}}, err
		}),
	}
}

func certificateRemoveCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove ACME certificates or the account; hosts order new ones",
		ArgsUsage: "NAME...",
		Description: `For a certificate that is not from your CA, or whose key may be in wrong hands. Hosts that have it show it until they are started again, which
tasks do not notice, or until it is due; revoke it at the CA. "account" is the account at the CA.

Examples:
   pinion certificate rm www.example.org
   pinion certificate rm account`,
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return exit.Usagef("%s takes the name of a certificate; see %s --help", c.Command.HelpName, c.Command.HelpName)
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			for _, name := range c.Args().Slice() {
				if err := client.RemoveCertificate(c.Context, inv.Client, name); err != nil {
					return fmt.Errorf("certificate %s: %w", format.Plain(name), err)
				}
				fmt.Fprintln(inv.Out, name)
			}
			return nil
		},
	}
}
