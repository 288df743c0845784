package invocation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/client"
)

// noClusterError says which clusters there are.
type noClusterError struct {
	text  string
	cause error
}

func (e *noClusterError) Error() string { return e.text }
func (e *noClusterError) Unwrap() error { return e.cause }

// ExplainCluster is the error of a command with the clusters that there are, when it is about one that does not exist.
func (s System) ExplainCluster(c *cli.Context, err error) error {
	refused, is := errors.AsType[*client.APIError](err)
	if !is || refused.Type != "ClusterNotFoundException" || c.String("cluster") == "" {
		return err
	}
	inv, failed := s.Invoke(c)
	if failed != nil {
		return err
	}
	clusters, failed := inv.Clusters(c.Context)
	if failed != nil {
		return err
	}
	return &noClusterError{fmt.Sprintf("there is no cluster %q; there are: %s", c.String("cluster"), format.List(clusters)), err}
}

// RequireCluster is the error of a cluster that does not exist.
func (inv *Invocation) RequireCluster(ctx context.Context, name string) error {
	clusters, err := inv.Clusters(ctx)
	if err == nil && !slices.Contains(clusters, name) {
		err = &client.APIError{Type: "ClusterNotFoundException", Message: "Cluster not found."}
	}
	return err
}

// Clusters are the names of all clusters.
func (inv *Invocation) Clusters(ctx context.Context) ([]string, error) {
	var names []string
	for in := map[string]any{}; ; {
		var page struct {
			ARNs []string `json:"clusterArns"`
			Next string   `json:"nextToken"`
		}
		if err := inv.Client.Call(ctx, "ListClusters", in, &page); err != nil {
			return nil, err
		}
		for _, arn := range page.ARNs {
			names = append(names, client.ResourceID(arn))
		}
		if page.Next == "" {
			return names, nil
		}
		in["nextToken"] = page.Next
	}
}
