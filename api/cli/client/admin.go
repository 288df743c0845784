package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// JoinToken is a join token as the pool remembers it; the token itself is known only to who made it.
type JoinToken struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Uses      int       `json:"uses"` // how many hosts it lets in
	Used      int       `json:"used"`
	Expires   time.Time `json:"expires"`
	CreatedAt time.Time `json:"createdAt"`
}

// CreatedToken is a token that was just made, and the address of a host to join by.
type CreatedToken struct {
	Token string `json:"token"`
	Join  string `json:"join"` // "host:port", may be empty
}

// CreateToken makes a join token; a zero ttl or number of uses is the pool's default.
func (c *Client) CreateToken(ctx context.Context, ttl time.Duration, uses int, role string) (CreatedToken, error) {
	in := map[string]any{"uses": uses, "role": role}
	if ttl > 0 {
		in["ttl"] = ttl.String()
	}
	var created CreatedToken
	return created, c.Call(ctx, "admin/tokens", in, &created)
}

// Tokens lists the join tokens that have not been forgotten yet, spent ones too.
func (c *Client) Tokens(ctx context.Context) ([]JoinToken, error) {
	var tokens []JoinToken
	return tokens, c.Get(ctx, "/v1/admin/tokens", nil, &tokens)
}

// RevokeToken ends a join token.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.Call(ctx, "admin/tokens/revoke", map[string]any{"id": id}, nil)
}

// Changes of a host that ChangeHost can make.
const (
	RemoveHost  = "remove"
	PromoteHost = "promote"
	DemoteHost  = "demote"
)

// UpdateHost makes one of the changes above; force counts for RemoveHost only.
func (c *Client) UpdateHost(ctx context.Context, change, id string, force bool) error {
	in := map[string]any{"host": id}
	if force {
		in["force"] = true
	}
	return c.Call(ctx, "admin/hosts/"+change, in, nil)
}

// SetHostStatus makes a host ACTIVE or DRAINING.
func (c *Client) SetHostStatus(ctx context.Context, cluster, id, status string) error {
	in := map[string]any{"cluster": cluster, "containerInstances": []string{id}, "status": status}
	var out struct {
		Failures []Failure `json:"failures"`
	}
	if err := c.Call(ctx, "UpdateContainerInstancesState", in, &out); err != nil {
		return err
	}
	if len(out.Failures) > 0 {
		return &APIError{Type: "ClientException", Status: http.StatusBadRequest, Message: fmt.Sprintf("host %s: %s", id, out.Failures[0].Reason)}
	}
	return nil
}

// SaveSnapshot copies a snapshot of the pool's state to w.
func (c *Client) SaveSnapshot(ctx context.Context, w io.Writer) error {
	response, err := c.openStream(ctx, "/v1/admin/snapshot", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("the snapshot broke off: %w", err)
	}
	return nil
}

// HostID is the id of the host that this client talks to.
func (c *Client) HostID(ctx context.Context) (string, error) {
	var host struct {
		ID string `json:"hostId"`
	}
	return host.ID, c.Get(ctx, "/v1/version", nil, &host)
}
