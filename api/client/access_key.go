package client

import (
	"context"
	"time"
)

// AccessKey is an access key without its secret.
type AccessKey struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	Role      string    `json:"role"`    // "read", "submit" or "admin"
	Cluster   string    `json:"cluster"` // the only clusters that it may name, with commas between; empty: all
	HostID    string    `json:"hostId"`  // of the host whose own key it is: `pinion env` prints it there
	CreatedAt time.Time `json:"createdAt"`
	Login     *KeyLogin `json:"login"` // nil: it does not expire
	KeyLimits
	InUse KeyUse `json:"inUse"`
}

// KeyLimits bound what a key may do within its role and its clusters. What is zero or nil is not limited.
type KeyLimits struct {
	Teams             []string `json:"teams,omitempty"`       // whose tasks it runs, stops and tags
	MaxPriority       *int     `json:"maxPriority,omitempty"` // of the tasks that it runs
	MaxTasks          int      `json:"maxTasks,omitempty"`    // tasks that are not STOPPED
	MaxWaiting        int      `json:"maxWaiting,omitempty"`  // tasks that wait for a place
	MaxGPUs           *int     `json:"maxGpus,omitempty"`     // GPUs that its tasks hold or wait for
	MaxRevisions      int      `json:"maxRevisions,omitempty"`
	RequestsPerSecond int      `json:"requestsPerSecond,omitempty"`
}

// KeyUse is what a key has of what its limits count.
type KeyUse struct {
	Tasks     int `json:"tasks"`
	Waiting   int `json:"waiting"`
	GPUs      int `json:"gpus"`
	Revisions int `json:"revisions"`
}

// NewKey is what a key is to be for.
type NewKey struct {
	Name    string `json:"name,omitempty"` // what it is for; keys may have the same
	Role    string `json:"role"`
	Cluster string `json:"cluster"` // names with commas between; empty: all
	KeyLimits
}

// CreatedKey is a new access key with its secret, which cannot be read again.
type CreatedKey struct {
	ID      string `json:"accessKeyId"`
	Secret  string `json:"secretAccessKey"`
	Name    string `json:"name,omitempty"`
	Role    string `json:"role"`
	Cluster string `json:"cluster,omitempty"`
	KeyLimits

	Connection string `json:"connection,omitempty"` // for people on other machines: a ConnectionString; the client adds it
}

// CreateKey creates an access key.
func (c *Client) CreateKey(ctx context.Context, key NewKey) (CreatedKey, error) {
	var created CreatedKey
	return created, c.Call(ctx, "admin/keys", key, &created)
}

// Keys lists the access keys, the oldest first.
func (c *Client) Keys(ctx context.Context) ([]AccessKey, error) {
	var keys []AccessKey
	return keys, c.Get(ctx, "/v1/admin/keys", nil, &keys)
}

// Sealing is how far the replacement of the key is that the secrets of access keys are sealed with.
type Sealing struct {
	Key   string    `json:"key,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Left  int       `json:"left"` // secrets that are sealed with an earlier key
}

// RotateSealingKey begins to replace the sealing key, or goes on with it. SealingOf tells how far it is.
func RotateSealingKey(ctx context.Context, c *Client) error {
	return c.Call(ctx, "admin/sealing/rotate", struct{}{}, nil)
}

// SealingOf tells how far the replacement of the sealing key is.
func SealingOf(ctx context.Context, c *Client) (Sealing, error) {
	var now Sealing
	return now, c.Get(ctx, "/v1/admin/sealing", nil, &now)
}

// RemoveKey removes an access key. Requests that are signed with it are refused at once.
func (c *Client) RemoveKey(ctx context.Context, id string) error {
	return c.Call(ctx, "admin/keys/remove", map[string]any{"id": id}, nil)
}
