package client

import (
	"context"
	"time"
)

// JoinToken is a join token without its secret.
type JoinToken struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"` // "host", or "agent": the hosts never become servers
	Uses      int       `json:"uses"` // number of hosts that may join with it
	Used      int       `json:"used"`
	Cluster   string    `json:"cluster"` // whose tasks the hosts run
	Expires   time.Time `json:"expires"`
	CreatedAt time.Time `json:"createdAt"`
}

// CreatedJoinToken is a new join token with its secret, which cannot be read again.
type CreatedJoinToken struct {
	Token string `json:"token"`
	Join  string `json:"join"` // host:port of a host to join at, may be empty
}

// CreateJoinToken creates a join token for hosts of a cluster, the default one when it is empty. A zero ttl or number of uses is the
// pool's default: an hour, one host. role is that of JoinToken.
func (c *Client) CreateJoinToken(ctx context.Context, ttl time.Duration, uses int, role, cluster string) (CreatedJoinToken, error) {
	in := map[string]any{"role": role, "cluster": cluster}
	if uses > 0 {
		in["uses"] = uses
	}
	if ttl > 0 {
		in["ttl"] = ttl.String()
	}
	var created CreatedJoinToken
	return created, c.Call(ctx, "admin/tokens", in, &created)
}

// JoinTokens lists the join tokens, for a day after their end also expired and used ones.
func (c *Client) JoinTokens(ctx context.Context) ([]JoinToken, error) {
	var tokens []JoinToken
	return tokens, c.Get(ctx, "/v1/admin/tokens", nil, &tokens)
}

// RevokeJoinToken ends a join token at once. Hosts that joined with it stay.
func (c *Client) RevokeJoinToken(ctx context.Context, id string) error {
	return c.Call(ctx, "admin/tokens/revoke", map[string]any{"id": id}, nil)
}
