package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

// openAtHost opens a desk for a command whose one argument is a HOST.
func (p Program) openAtHost(c *cli.Context) (*desk, client.Host, error) {
	if c.Args().Len() != 1 {
		return nil, client.Host{}, usageErrorf("%s takes one host at a time; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	d, err := p.openDesk(c)
	if err != nil {
		return nil, client.Host{}, err
	}
	host, err := d.findHost(c.Context, c.Args().First())
	return d, host, err
}

// findHost finds what people type for a host: its name, its id, or the beginning of its id.
func (d *desk) findHost(ctx context.Context, given string) (client.Host, error) {
	hosts, err := d.host.Hosts(ctx)
	if err != nil {
		return client.Host{}, err
	}
	for _, names := range []func(client.Host) bool{
		func(h client.Host) bool { return h.ID == given },
		func(h client.Host) bool { return h.Name == given },
		func(h client.Host) bool { return strings.HasPrefix(h.ID, strings.ToLower(given)) },
	} {
		var found []client.Host
		for _, h := range hosts {
			if names(h) {
				found = append(found, h)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return client.Host{}, fmt.Errorf("%q is %s (%s); type more of the id", given, plural(len(found), "host"), strings.Join(idsOf(found), ", "))
	}
	return client.Host{}, fmt.Errorf("no host has the name %q, nor an id that begins so; `pinion hosts` lists them", given)
}

func idsOf(hosts []client.Host) []string {
	ids := make([]string, len(hosts))
	for i, h := range hosts {
		ids[i] = h.ID
	}
	return ids
}
