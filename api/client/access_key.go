package client

import (
	"context"
	"time"
)

// AccessKey is an access key without its secret.
type AccessKey struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`    // "read", "submit" or "admin"
	Cluster   string    `json:"cluster"` // the only cluster that it may name; empty: all
	Hosts     bool      `json:"hosts"`   // true for the key that `pinion env` prints on hosts
	CreatedAt time.Time `json:"createdAt"`
}

// CreatedKey is a new access key with its secret, which cannot be read again.
type CreatedKey struct {
	ID      string `json:"accessKeyId"`
	Secret  string `json:"secretAccessKey"`
	Role    string `json:"role"`
	Cluster string `json:"cluster,omitempty"`
}

// CreateKey creates an access key with a role, for one cluster or, when that is empty, for all.
func (c *Client) CreateKey(ctx context.Context, role, cluster string) (CreatedKey, error) {
	var created CreatedKey
	return created, c.Call(ctx, "admin/keys", map[string]any{"role": role, "cluster": cluster}, &created)
}

// Keys lists the access keys, the oldest first.
func (c *Client) Keys(ctx context.Context) ([]AccessKey, error) {
	var keys []AccessKey
	return keys, c.Get(ctx, "/v1/admin/keys", nil, &keys)
}

// RemoveKey removes an access key. Requests that are signed with it are refused at once.
func (c *Client) RemoveKey(ctx context.Context, id string) error {
	return c.Call(ctx, "admin/keys/remove", map[string]any{"id": id}, nil)
}
