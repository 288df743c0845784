package client

import (
	"context"
	"slices"
)

// Daemon is one of ECS's daemons: the members that are read most.
type Daemon struct {
	ARN        string           `json:"daemonArn"`
	Status     string           `json:"status"`
	Revisions  []DaemonRevision `json:"currentRevisions"` // the one that the daemon is to be first, behind it those that it replaces
	Deployment string           `json:"deploymentArn"`
	CreatedAt  Timestamp        `json:"createdAt"`
}

// DaemonRevision is where tasks of a revision of a daemon run.
type DaemonRevision struct {
	ARN     string `json:"arn"`
	Running int    `json:"totalRunningCount"`
	Without int    `json:"totalWithoutDaemonCount"` // hosts that the daemon is for and where no task of it runs
}

// Name is the name of the daemon, which is that of no other one of its cluster.
func (d *Daemon) Name() string { return ResourceID(d.ARN) }

// Hosts are how many hosts a task of the daemon runs on, of any revision, and on how many one is to.
func (d *Daemon) Hosts() (running, wanted int) {
	for _, r := range d.Revisions {
		running, wanted = running+r.Running, wanted+r.Running+r.Without
	}
	return running, wanted
}

// DaemonARNs lists the daemons of a cluster by their names, those that are being deleted included.
func DaemonARNs(ctx context.Context, c *Client, cluster string) (arns []string, err error) {
	for in := (map[string]any{"clusterArn": cluster, "maxResults": describeLimit}); ; {
		var page struct {
			Daemons []Daemon `json:"daemonSummariesList"`
			Next    string   `json:"nextToken"`
		}
		if err := c.Call(ctx, "ListDaemons", in, &page); err != nil {
			return nil, err
		}
		for _, d := range page.Daemons {
			arns = append(arns, d.ARN)
		}
		if page.Next == "" {
			return arns, nil
		}
		in["nextToken"] = page.Next
	}
}

// maxRevisions is how many revisions one DescribeDaemonRevisions may name.
const maxRevisions = 20

// DaemonDefinitions are the ARNs of the daemon task definitions of revisions, by the ARNs of these. A revision that is gone is missing.
func DaemonDefinitions(ctx context.Context, c *Client, revisions []string) (map[string]string, error) {
	definitions := map[string]string{}
	for batch := range slices.Chunk(revisions, maxRevisions) {
		var out struct {
			Revisions []struct {
				ARN        string `json:"daemonRevisionArn"`
				Definition string `json:"daemonTaskDefinitionArn"`
			} `json:"daemonRevisions"`
		}
		if err := c.Call(ctx, "DescribeDaemonRevisions", map[string]any{"daemonRevisionArns": batch}, &out); err != nil {
			return nil, err
		}
		for _, r := range out.Revisions {
			definitions[r.ARN] = r.Definition
		}
	}
	return definitions, nil
}
