package client

import (
	"context"
	"fmt"
	"io"
	"net/url"
)

// SaveSnapshot copies a snapshot of the pool's state to w, with the history of ended tasks or without.
func (c *Client) SaveSnapshot(ctx context.Context, w io.Writer, withHistory bool) error {
	query := url.Values{}
	if withHistory {
		query.Set("history", "1")
	}
	response, err := c.transport.get(ctx, "/v1/admin/snapshot", query)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("the snapshot was cut off: %w", err)
	}
	return nil
}
