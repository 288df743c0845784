package upgrade

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/api/upgrade"
)

// servers are the hosts that the command may talk to: the one that it was given, and, over the network, the servers of the pool, since the first one is
// started anew like all others.
type servers struct {
	inv *invocation.Invocation
	all map[string]*client.Client // by address; "" is the one that was given
	at  string
}

func newServers(inv *invocation.Invocation) *servers {
	return &servers{inv: inv, all: map[string]*client.Client{"": inv.Client}}
}

// do asks one of them, once. After an error that may pass by itself, the next question goes to another one.
func (s *servers) do(ask func(*client.Client) error) error {
	err := ask(s.all[s.at])
	if err == nil || !client.IsUnavailable(err) {
		return err
	}
	for address := range s.all {
		if address != s.at {
			s.at = address
			break
		}
	}
	return err
}

// hosts are those of the pool, asked for until some server answers, for a minute.
func (s *servers) hosts(ctx context.Context) (hosts []client.Host, err error) {
	err = s.inv.RetryUnavailable(ctx, func() error {
		return s.question(ctx, func(ctx context.Context, c *client.Client) error { hosts, err = c.Hosts(ctx); return err })
	})
	for _, h := range hosts {
		s.learn(h)
	}
	return hosts, err
}

// learn makes a server one to talk to. Without a key that is possible over the socket alone.
func (s *servers) learn(h client.Host) {
	config := s.inv.Connection.Config
	if s.all[h.Address] != nil || config.Host == "" || h.Role != "server" && h.Role != "leader" {
		return
	}
	config.Host = h.Address
	if c, err := client.New(config); err == nil {
		s.all[h.Address] = c
	}
}

func hostPath(id string) string { return "admin/hosts/" + url.PathEscape(id) + "/upgrade" }

// answerTimeout is how long one answer may take: a host that has stopped in the middle of it is asked again, by another server.
const answerTimeout = 20 * time.Second

// question asks a server once, something that is harmless to repeat: an answer that is late or cut off counts as none.
func (s *servers) question(ctx context.Context, ask func(context.Context, *client.Client) error) error {
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return s.do(func(c *client.Client) error {
		err := ask(bounded, c)
		var refused *client.APIError
		if err != nil && ctx.Err() == nil && !errors.As(err, &refused) {
			err = fmt.Errorf("%w: %w", client.ErrUnreachable, err)
		}
		return err
	})
}

// status is what a host says of its program.
func (s *servers) status(ctx context.Context, host string) (status upgrade.Status, err error) {
	return status, s.question(ctx, func(ctx context.Context, c *client.Client) error {
		return c.Get(ctx, "/v1/"+hostPath(host), nil, &status)
	})
}

// begin asks a host to begin. Asking again with one id changes nothing.
func (s *servers) begin(ctx context.Context, host string, r upgrade.Request, back bool) (status upgrade.Status, err error) {
	path := hostPath(host)
	if back {
		path += "/rollback"
	}
	return status, s.question(ctx, func(ctx context.Context, c *client.Client) error { return c.Call(ctx, path, r, &status) })
}
