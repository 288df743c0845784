package cli

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// invokeWithHost prepares a command whose one argument is a HOST.
func (p Program) invokeWithHost(c *cli.Context) (*invocation.Invocation, client.Host, error) {
	if c.Args().Len() != 1 {
		return nil, client.Host{}, exit.Usagef("%s takes one host at a time; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	inv, err := p.system.Invoke(c)
	if err != nil {
		return nil, client.Host{}, err
	}
	host, err := inv.FindHost(c.Context, c.Args().First())
	return inv, host, err
}
