package ecs

import (
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// arn makes the ARN of a resource, "cluster/default", in the region that the caller signed for.
func (c *Request) arn(resource string) string {
	return "arn:aws:ecs:" + c.Region + ":" + spec.AccountID + ":" + resource
}

func (c *Request) clusterARN(name string) string { return c.arn("cluster/" + name) }

func (c *Request) definitionARN(name string) string { return c.arn("task-definition/" + name) }

func (c *Request) taskARN(cluster, id string) string { return c.arn("task/" + cluster + "/" + id) }

func (c *Request) instanceARN(cluster, id string) string {
	return c.arn("container-instance/" + cluster + "/" + id)
}

func (c *Request) containerARN(t *spec.Task, id string) string {
	return c.arn("container/" + t.Cluster + "/" + t.ID + "/" + id)
}

// resource is what a client named: a short name or id, or an ARN in the long form (with the cluster) or the old one.
type resource struct {
	cluster string // empty when the name does not say
	name    string
}

// parseResource reads a name, an id or an ARN of the given kind ("task"). Regions are not compared: there is one
// cluster behind all of them.
func parseResource(kind, given string) (resource, error) {
	if !strings.HasPrefix(given, "arn:") {
		return resource{name: given}, nil
	}
	parts := strings.SplitN(given, ":", 6)
	if len(parts) != 6 || parts[2] != "ecs" {
		return resource{}, wire.Errorf(wire.InvalidParameter, "Invalid identifier: %s is not an ARN of Amazon ECS", given)
	}
	if parts[4] != spec.AccountID {
		return resource{}, wire.Errorf(wire.InvalidParameter, "Invalid identifier: %s belongs to account %s, here is account %s", given, parts[4], spec.AccountID)
	}
	path := strings.Split(parts[5], "/")
	if path[0] != kind || len(path) < 2 || len(path) > 3 {
		return resource{}, wire.Errorf(wire.InvalidParameter, "Invalid identifier: %s is not the ARN of a %s", given, strings.ReplaceAll(kind, "-", " "))
	}
	if len(path) == 3 {
		return resource{cluster: path[1], name: path[2]}, nil
	}
	return resource{name: path[1]}, nil
}

// parseInCluster parses a resource that must belong to the cluster that the request is about.
func parseInCluster(cluster, kind, given string) (id string, err error) {
	r, err := parseResource(kind, given)
	if err != nil {
		return "", err
	}
	if r.cluster != "" && r.cluster != cluster {
		return "", wire.Errorf(wire.InvalidParameter, "Invalid identifier: Identifier is for cluster %s. Your cluster is %s", r.cluster, cluster)
	}
	return r.name, nil
}
