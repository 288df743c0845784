package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

// newHostSession opens a desk for a command whose one argument is a HOST.
func (p Program) newHostSession(c *cli.Context) (*session, client.Host, error) {
	if c.Args().Len() != 1 {
		return nil, client.Host{}, usageErrorf("%s takes one host at a time; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	s, err := p.newSession(c)
	if err != nil {
		return nil, client.Host{}, err
	}
	host, err := s.findHost(c.Context, c.Args().First())
	return s, host, err
}

// findHost finds what people type for a host: its name, its id, or the beginning of its id.
func (s *session) findHost(ctx context.Context, given string) (client.Host, error) {
	hosts, err := s.client.Hosts(ctx)
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
		return client.Host{}, ambiguousHostError(given, found)
	}
	return client.Host{}, fmt.Errorf("no host has the name %q, nor an id that begins so; `pinion hosts` lists them", given)
}

// ambiguousHostError says which hosts a name or the beginning of an id stands for.
func ambiguousHostError(given string, found []client.Host) error {
	ids := abbreviateList(idsOf(found))
	if found[0].Name == given {
		return fmt.Errorf("%s have the name %q (%s); give the id of one, or the beginning of it", plural(len(found), "host"), given, ids)
	}
	return fmt.Errorf("%q is the beginning of %s (%s); type more of it", given, plural(len(found), "host id"), ids)
}

func idsOf(hosts []client.Host) []string {
	ids := make([]string, len(hosts))
	for i, h := range hosts {
		ids[i] = h.ID
	}
	return ids
}

// hostNames maps the ids of all hosts to what lists call them.
func (s *session) hostNames(ctx context.Context) (map[string]string, error) {
	hosts, err := s.client.Hosts(ctx)
	return namesOf(hosts), err
}

func namesOf(hosts []client.Host) map[string]string {
	names := map[string]string{}
	for _, h := range hosts {
		names[h.ID] = h.Name
	}
	return disambiguate(names)
}

// disambiguate adds the first digits of their ids to names that several hosts have: hosts on one machine have the same.
func disambiguate(names map[string]string) map[string]string {
	count := map[string]int{}
	for _, name := range names {
		count[name]++
	}
	for id, name := range names {
		if count[name] > 1 {
			names[id] = fmt.Sprintf("%s (%.8s)", name, id)
		}
	}
	return names
}
