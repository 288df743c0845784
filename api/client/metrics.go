package client

import "context"

// HostMetrics are the metrics of a host in the text format of Prometheus, of which the key sees what is of its clusters and teams.
func HostMetrics(ctx context.Context, c *Client, hostID string) ([]byte, error) {
	_, text, err := c.transport.read(ctx, "/v1/hosts/"+hostID+"/metrics", nil)
	return text, err
}
