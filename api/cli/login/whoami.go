package login

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// WhoAmI is the command `pinion whoami`.
func WhoAmI(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "whoami",
		Usage: "Show the access key that commands act with, what it may do, and why it is that one",
		Description: `The key that acts is the first of these:
   1. --key-id with --key-secret, or PINION_ACCESS_KEY_ID with PINION_SECRET_ACCESS_KEY: always, also on a host
   2. the login of --context or PINION_CONTEXT
   3. with --host or PINION_HOST, AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or else the login there
   4. on a host, AWS_ACCESS_KEY_ID if the pool knows it: 'pinion env' and 'pinion key create' set it. One that the pool does not
      know may be Amazon's, and is passed over
   5. on a host, root with the rights of that host: without limits on a server, to look on an agent; elsewhere the current login
A key or a login that is passed over is named on standard error.

Examples:
   pinion whoami
   pinion whoami --context lab
   pinion whoami -o json`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			caller, err := client.CallerOf(c.Context, inv.Client)
			if err != nil {
				return err
			}
			return showCaller(inv, caller)
		},
	}
}

// showCaller prints who acts, and where that comes from.
func showCaller(inv *invocation.Invocation, caller client.Caller) error {
	to := inv.Connection
	because := cmp.Or(to.Because, "the socket of the host on this machine, without a key")
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(struct {
			client.Caller
			Because string `json:"because"`
			Host    string `json:"host"`
			Passed  string `json:"passedOver,omitempty"`
		}{caller, because, cmp.Or(to.Host, to.Socket), to.Passed})
	}
	teams := cmp.Or(strings.Join(caller.Teams, ", "), "all")
	identity := cmp.Or(caller.KeyID, "root")
	if caller.Name != "" {
		identity += " (" + caller.Name + ")"
	}
	_, err := fmt.Fprintf(inv.Out, "identity  %s\nrole      %s\nclusters  %s\nteams     %s\nlimits    %s\nfrom      %s\nhost      %s\n", identity, caller.Role,
		cmp.Or(caller.Cluster, "all"), teams, cmp.Or(format.KeyLimits(caller.KeyLimits, caller.InUse), "none"), because, cmp.Or(to.Host, to.Socket))
	return err
}
