package client

import (
	"context"
	"net/url"
)

// Volume is a shared volume of a host.
type Volume struct {
	Name     string `json:"name"`
	HostID   string `json:"hostId"`
	HostName string `json:"hostName"`
}

// Volumes lists the shared volumes that hosts have told of, each as a T that embeds or is a Volume.
func Volumes[T any](ctx context.Context, c *Client) (all []T, err error) {
	err = c.Get(ctx, "/v1/volumes", nil, &all)
	return all, err
}

// RemoveVolume removes a shared volume of a host, with all that is in it. The host refuses while a task has it.
func RemoveVolume(ctx context.Context, c *Client, host, name string) error {
	return c.Call(ctx, "admin/hosts/"+url.PathEscape(host)+"/volumes/remove?"+url.Values{"name": {name}}.Encode(), struct{}{}, nil)
}
