package access

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/table"
	"pinion/api/client"
)

// rotationPollInterval is how often `pinion ca rotate` looks how far it is.
const rotationPollInterval = 500 * time.Millisecond

// CA is the command `pinion ca`.
func CA(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "ca",
		Usage: "Show and rotate the pool's certificate authority",
		Description: `The certificates of all hosts are signed by the root of the pool's CA. Clients know the pool by it (PINION_CA, AWS_CA_BUNDLE).

Examples:
   pinion ca ls
   pinion ca get > ca.crt
   pinion ca rotate`,
		Subcommands: []*cli.Command{caListCommand(system), caGetCommand(system), caRotateCommand(system)},
	}
}

func caListCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "ls",
		Usage: "List the roots of the CA, and the hosts that a rotation waits for",
		Description: `Examples:
   pinion ca ls
   pinion ca ls -o json`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if inv.Output == invocation.JSON {
				return inv.PrintDocument(c.Context, "/v1/admin/ca")
			}
			ca, err := client.CAOf(c.Context, inv.Client)
			if err != nil {
				return err
			}
			if err := inv.PrintTable(rootTable(ca)); err != nil {
				return err
			}
			if ca.Rotating {
				inv.Notef("%s", waitsFor(ca))
			}
			return nil
		},
	}
}

func rootTable(ca client.CA) *table.Table {
	t := &table.Table{Header: []string{"ROOT", "SINCE", "EXPIRES", "HOSTS", "CLIENTS"}}
	for _, root := range ca.Roots {
		hosts, clients := "yes", "yes"
		if !root.Signs {
			hosts, clients = "no", "no"
			if ca.Rotating {
				hosts = fmt.Sprintf("until %d are renewed", len(ca.Left))
			}
			if !root.ClientsUntil.IsZero() {
				clients = "until " + root.ClientsUntil.Local().Format(time.DateOnly)
			}
		}
		t.Add(root.Fingerprint[:min(16, len(root.Fingerprint))], root.Since.Local().Format(time.DateOnly), root.Expires.Local().Format(time.DateOnly), hosts, clients)
	}
	return t
}

// waitsFor says which hosts a rotation waits for.
func waitsFor(ca client.CA) string {
	var names []client.CAHost
	for _, host := range ca.Left {
		if !host.Connected {
			host.Name += " (not connected)"
		}
		names = append(names, host)
	}
	verb := "are"
	if len(ca.Left) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s %s still on the old root: %s", format.Plural(len(ca.Left), "host"), verb, hostNames(names))
}

// hostNames are the names of the first hosts, and how many more there are.
func hostNames(hosts []client.CAHost) string {
	var names []string
	for _, host := range hosts {
		names = append(names, host.Name)
	}
	const most = 10
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

func caGetCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "get",
		Usage: "Print what clients need to trust the pool (PEM)",
		Description: `Prints the root that signs, and while hosts are renewed the one before. It is the content of pki/ca.crt in the data directory of a host.

Examples:
   pinion ca get > ca.crt`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			ca, err := client.CAOf(c.Context, inv.Client)
			if err != nil {
				return err
			}
			if inv.Output == invocation.JSON {
				return inv.PrintJSON(ca.Roots)
			}
			for _, root := range ca.Roots {
				if root.Signs || ca.Rotating {
					fmt.Fprint(inv.Out, root.Certificate)
				}
			}
			return nil
		},
	}
}

func caRotateCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "rotate",
		Usage: "Replace the root that signs the certificates of hosts",
		Description: `Makes another root, which the old one signs, has hosts renew their certificates, and has them drop the old root when all have. It waits until then,
and can be interrupted: the pool goes on. A host that is off is waited for, 31 days at most; it renews its certificate when it is back.

Clients that know only the old root are served for 31 days more. Give them the new one meanwhile: pinion ca get > ca.crt. Join tokens of
before are good for as long.

--force is for a root whose key may be in wrong hands. It does not wait for hosts that are off: they are named at the end, and need a join token
to come back (as the hosts that they were). Clients and join tokens that know only the old root are refused at once. Run it after pinion
hosts rm --force and pinion keys rotate. In a rotation that is under way it ends the waiting, and makes no other root.

Examples:
   pinion ca rotate
   pinion ca rotate --force`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "do not wait for hosts that are off, and refuse clients that know only the old root"}},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			before, err := client.CAOf(c.Context, inv.Client)
			if err != nil {
				return err
			}
			if err := client.RotateCA(c.Context, inv.Client, c.Bool("force")); err != nil {
				return err
			}
			return waitUntilRotated(c, inv, before.Left)
		},
	}
}

// waitUntilRotated returns when hosts have dropped the old root, or when only hosts that are off are waited for. left are the hosts that
// were not renewed when it was last seen.
func waitUntilRotated(c *cli.Context, inv *invocation.Invocation, left []client.CAHost) error {
	said := ""
	for {
		ca, err := client.CAOf(c.Context, inv.Client)
		if err != nil {
			return err
		}
		off := ca.Rotating && !ca.Forced && len(ca.Left) > 0
		for _, host := range ca.Left {
			off = off && !host.Connected
		}
		if !ca.Rotating && c.Bool("force") {
			if err := noteCutOff(c, inv, left); err != nil {
				return err
			}
		}
		if !ca.Rotating || off {
			return printRotated(inv, ca)
		}
		left = ca.Left
		if now := waitsFor(ca); len(ca.Left) > 0 && now != said {
			inv.Notef("%s", now)
			said = now
		}
		select {
		case <-time.After(rotationPollInterval):
		case <-c.Context.Done():
			return c.Context.Err()
		}
	}
}

// noteCutOff names the hosts that a forced rotation did not wait for: those of left that are not connected. Others were renewed since.
func noteCutOff(c *cli.Context, inv *invocation.Invocation, left []client.CAHost) error {
	hosts, err := inv.Client.Hosts(c.Context)
	if err != nil {
		return err
	}
	left = slices.DeleteFunc(slices.Clone(left), func(h client.CAHost) bool {
		return slices.ContainsFunc(hosts, func(now client.Host) bool { return now.ID == h.ID && now.Connected })
	})
	if len(left) > 0 {
		inv.Notef("Cut off: %s. To come back as the same host: `pinion up --join ADDR --token-file FILE` there, with a token of `pinion token`.", hostNames(left))
	}
	return nil
}

// printRotated prints the root that signs now, and notes what is left to do.
func printRotated(inv *invocation.Invocation, ca client.CA) error {
	if ca.Rotating {
		inv.Notef("%s. They are waited for, 31 days at most; `pinion ca rotate --force` ends that, and they need a join token then.", waitsFor(ca))
	}
	if len(ca.Roots) > 1 && !ca.Roots[1].ClientsUntil.IsZero() {
		inv.Notef("Clients that know only the old root are served until %s. Give them the new one: pinion ca get > ca.crt", ca.Roots[1].ClientsUntil.Local().Format(time.DateOnly))
	} else {
		inv.Notef("Clients that know only the old root are refused. Give them the new one: pinion ca get > ca.crt")
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(ca)
	}
	_, err := fmt.Fprintln(inv.Out, ca.Roots[0].Fingerprint)
	return err
}
