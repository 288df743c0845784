package client

import (
	"context"
	"fmt"
	"io"
)

// SaveSnapshot copies a snapshot of the pool's state to w.
func (c *Client) SaveSnapshot(ctx context.Context, w io.Writer) error {
	response, err := c.transport.get(ctx, "/v1/admin/snapshot", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("the snapshot was cut off: %w", err)
	}
	return nil
}
