package client

import "context"

// Caller is who sends the requests of a client, as the pool knows them, and what they may do.
type Caller struct {
	ARN     string `json:"arn"`
	KeyID   string `json:"accessKeyId,omitempty"` // empty for root through the socket of a server
	Name    string `json:"name,omitempty"`        // of the key
	Role    string `json:"role"`
	Cluster string `json:"cluster,omitempty"` // the only ones that the key is for, with commas between
	HostID  string `json:"hostId,omitempty"`  // of the host whose own key it is
	KeyLimits
	InUse KeyUse `json:"inUse,omitzero"`
}

// CallerOf asks the pool who sends the requests of a client.
func CallerOf(ctx context.Context, c *Client) (Caller, error) {
	var caller Caller
	return caller, c.Get(ctx, "/v1/whoami", nil, &caller)
}
