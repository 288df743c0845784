// Package arn makes and reads the ARNs of Amazon ECS. There is one parser, so that authorization and effect always
// mean the same resource.
package arn

import (
	"strings"

	"pinion/api/ecs/field"
	"pinion/raftfsm/spec"
)

// Kinds of resources, as ARNs name them.
const (
	Cluster           = "cluster"
	TaskDefinition    = "task-definition"
	Task              = "task"
	ContainerInstance = "container-instance"
	CapacityProvider  = "capacity-provider"
	Service           = "service"
	ServiceDeployment = "service-deployment"
	ServiceRevision   = "service-revision"
	TaskSet           = "task-set"

	Daemon           = "daemon"
	DaemonDeployment = "daemon-deployment"
	DaemonRevision   = "daemon-revision"
	DaemonDefinition = "daemon-task-definition"
)

// Resource is a parsed reference to a resource: a name, an id or an ARN.
type Resource struct {
	Kind    string
	Cluster string // that the resource belongs to, or that it is; empty when it belongs to none, or the name does not say
	Name    string // name or id; of a service deployment and a service revision SERVICE/ID, of a task set SERVICE/ecs-svc/ID. Of daemons it begins with spec.DaemonPrefix
}

// Make makes the ARN of a resource, "cluster/default", in a region.
func Make(region, resource string) string {
	return "arn:aws:ecs:" + region + ":" + spec.AccountID + ":" + resource
}

// InCluster is the kind, the cluster and the name of a resource that belongs to a service, or to a daemon, which has a kind of its own: what Make
// takes. The name begins with that of the service in the state.
func InCluster(kind, daemonKind, cluster, name string) string {
	if own, ok := strings.CutPrefix(name, spec.DaemonPrefix); ok {
		kind, name = daemonKind, own
	}
	return kind + "/" + cluster + "/" + name
}

// Is reports whether a reference is an ARN, and not a name or an id.
func Is(given string) bool { return strings.HasPrefix(given, "arn:") }

// Parse reads a name, an id or an ARN of the kind. An ARN may be in the long form, with the cluster, or in the one from before
// 2021. Regions are not compared: there is one pool behind all of them. Names of daemons and of their task definitions are as the state has them,
// which nobody writes.
func Parse(kind, given string) (Resource, error) {
	if !Is(given) {
		if strings.HasPrefix(given, spec.DaemonPrefix) {
			return Resource{}, field.Errorf("", "Invalid identifier: %s is not the name of a %s", given, KindName(kind))
		}
		r := Resource{Kind: kind, Name: given}
		if kind == Cluster {
			r.Cluster = given
		}
		return r.inState(), nil
	}
	r, err := ParseAny(given)
	if err == nil && r.Kind != kind {
		return Resource{}, wrongKind(kind, given)
	}
	return r, err
}

// parts are the numbers of names behind the kind in an ARN: the least is the form without the cluster.
var parts = map[string]struct{ least, most int }{
	Cluster:           {1, 1},
	TaskDefinition:    {1, 1},
	CapacityProvider:  {1, 1},
	Task:              {1, 2},
	ContainerInstance: {1, 2},
	Service:           {1, 2},
	ServiceDeployment: {3, 3},
	ServiceRevision:   {3, 3},
	TaskSet:           {4, 4},
	Daemon:            {2, 2},
	DaemonDeployment:  {3, 3},
	DaemonRevision:    {3, 3},
	DaemonDefinition:  {1, 1},
}

// inState is a resource whose name is as the state has it.
func (r Resource) inState() Resource {
	switch r.Kind {
	case Daemon, DaemonDeployment, DaemonRevision, DaemonDefinition:
		r.Name = spec.DaemonPrefix + r.Name
	}
	return r
}

// ParseAny reads the ARN of a resource of any known kind. With an error it returns the kind alone, as far as there is one.
func ParseAny(given string) (Resource, error) {
	fields := strings.SplitN(given, ":", 6)
	if len(fields) != 6 || fields[2] != "ecs" {
		return Resource{}, field.Errorf("", "Invalid identifier: %s is not an ARN of Amazon ECS", given)
	}
	if fields[4] != spec.AccountID {
		return Resource{}, field.Errorf("", "Invalid identifier: %s belongs to account %s, here is account %s", given, fields[4], spec.AccountID)
	}
	kind, path, _ := strings.Cut(fields[5], "/")
	names := strings.Split(path, "/")
	allowed := parts[kind]
	if path == "" || len(names) < allowed.least || len(names) > allowed.most {
		return Resource{Kind: kind}, wrongKind(kind, given)
	}
	r := Resource{Kind: kind, Name: path}
	if kind == Cluster {
		r.Cluster = path
	} else if allowed.most > 1 && len(names) == allowed.most {
		r.Cluster, r.Name, _ = strings.Cut(path, "/")
	}
	return r.inState(), nil
}

// Known says whether there are ARNs of a kind.
func Known(kind string) bool { return parts[kind].most > 0 }

func wrongKind(kind, given string) error {
	return field.Errorf("", "Invalid identifier: %s is not the ARN of a %s", given, KindName(kind))
}

// KindName is a kind as people write it: "container instance".
func KindName(kind string) string { return strings.ReplaceAll(kind, "-", " ") }
