package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

func versionCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "Print the versions of this program and of the host",
		Description: `Examples:
   pinion version
   pinion version -o json`,
		Action: func(c *cli.Context) error {
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			answer := versionInfo{Client: p.Version}
			var host struct {
				Version string `json:"version"`
			}
			switch err := inv.Client.Get(c.Context, "/v1/version", nil, &host); {
			case err == nil && host.Version == "":
				inv.Notef("the host does not tell its version: it is an agent, which tells it on its own machine alone, or the access key is not valid")
			case err == nil:
				answer.Host = host.Version
			case !errors.Is(err, client.ErrUnreachable):
				return err
			}
			if inv.Output == invocation.JSON {
				return inv.PrintJSON(answer)
			}
			fmt.Fprintln(inv.Out, "pinion", answer.Client)
			if answer.Host == "" {
				inv.Notef("no host answers; see pinion --help for --data-dir and --host")
			} else {
				fmt.Fprintln(inv.Out, "host  ", answer.Host)
			}
			return nil
		},
	}
}

// versionInfo is the answer of `pinion version`; Host is left out when none answers.
type versionInfo struct {
	Client string `json:"client"`
	Host   string `json:"host,omitempty"`
}
