package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func versionCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version of this program and of the host it talks to",
		Description: `Examples:
   pinion version
   pinion version -o json`,
		Action: func(c *cli.Context) error {
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			answer := versionInfo{Client: p.Version}
			var host struct {
				Version string `json:"version"`
			}
			switch err := s.client.Get(c.Context, "/v1/version", nil, &host); {
			case err == nil:
				answer.Host = host.Version
			case !errors.Is(err, client.ErrUnreachable):
				return err
			}
			if s.output == outputJSON {
				return printJSON(s.out, answer)
			}
			fmt.Fprintln(s.out, "pinion", answer.Client)
			if answer.Host == "" {
				s.notef("no host answers here; see pinion --help for --data-dir and --host")
			} else {
				fmt.Fprintln(s.out, "host  ", answer.Host)
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
