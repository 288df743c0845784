package ecs

import (
	"cmp"
	"reflect"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// scope says which clusters the calls of an operation are about, so that a key that is for one cluster is held to it in one
// place. Every line of the table has one; the zero value refuses such keys, as poolWide does.
type scope struct {
	kind    scopeKind
	members []string // of the input, by their JSON names; see inCluster
}

type scopeKind int

const (
	scopeMissing scopeKind = iota
	scopePool
	scopeNone
	scopeClusters
)

var (
	// poolWide is about all clusters: a key for one of them may not call it.
	poolWide = scope{kind: scopePool}
	// unscoped is about what belongs to no cluster, such as task definitions: every key with the role may call it.
	unscoped = scope{kind: scopeNone}
)

// inCluster is about the clusters in these members of the input: names of clusters, where nothing stands for the default one,
// or ARNs of resources in members whose names end in Arn or Arns.
func inCluster(members ...string) scope { return scope{scopeClusters, members} }

// check refuses an input about another cluster than the one that the caller's key is for.
func (s scope) check(r *Request, operation string, input reflect.Value) error {
	if r.Scope == "" || s.kind == scopeNone {
		return nil
	}
	if s.kind != scopeClusters || len(s.members) == 0 {
		return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the cluster %s alone, and %s is about all of them.", r.Principal, r.Scope, operation)
	}
	for _, member := range s.members {
		if err := checkMember(r, member, input); err != nil {
			return err
		}
	}
	return nil
}

func checkMember(r *Request, member string, input reflect.Value) error {
	for _, given := range textsIn(input, member) {
		cluster := given
		if strings.HasSuffix(member, "Arn") || strings.HasSuffix(member, "Arns") {
			found, shared, err := clusterOf(r, given)
			if err != nil || shared {
				return err
			}
			cluster = found
		} else {
			parsed, err := arn.Parse(arn.Cluster, cmp.Or(given, spec.DefaultCluster))
			if err != nil {
				return err
			}
			cluster = parsed.Cluster
		}
		if err := r.Scope.Check(r.Principal, cluster); err != nil {
			return err
		}
	}
	return nil
}

// clusterOf is the cluster of the resource with this ARN. A shared resource belongs to no cluster.
func clusterOf(r *Request, given string) (cluster string, shared bool, err error) {
	parsed, err := arn.ParseAny(given)
	if err != nil {
		return "", false, err
	}
	switch {
	case parsed.Kind == arn.TaskDefinition || parsed.Kind == arn.CapacityProvider:
		return "", true, nil
	case parsed.Cluster != "":
		return parsed.Cluster, false, nil
	case parsed.Kind == arn.Task:
		if task := r.View.Task(parsed.Name); task != nil {
			return task.Cluster, false, nil
		}
	case parsed.Kind == arn.ContainerInstance:
		if host := r.View.Host(parsed.Name); host != nil {
			return host.Cluster, false, nil
		}
	}
	return "", false, wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the cluster %s, and %s names no cluster: use the ARN in the long form.", r.Principal, r.Scope, given)
}

// textsIn are the values of a member that is a text or a list of texts. An empty list is about what nothing stands for.
func textsIn(input reflect.Value, member string) []string {
	value := input.FieldByIndex(wire.Fields(input.Type())[member].Index)
	if list, ok := value.Interface().([]string); ok {
		if len(list) == 0 && !strings.HasSuffix(member, "Arns") {
			return []string{""}
		}
		return list
	}
	return []string{value.String()}
}
