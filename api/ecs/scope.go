package ecs

import (
	"cmp"
	"reflect"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// scope says which clusters and task definitions the calls of an operation are about, so that a key that is for some clusters is held
// to them in one place. Every line of the table has one; the zero value refuses such keys, as poolWide does.
type scope struct {
	kind     scopeKind
	members  []string    // of the input, by their JSON names; see inCluster
	families []string    // members that name task definitions or families, by their JSON names
	kindOf   string      // of the task definitions in families, as ARNs name them; empty: arn.TaskDefinition
	right    familyRight // to those, and to task definitions and capacity providers in members
}

// familyRight is what a call does with the task definitions that it names. The zero value is the one that is refused more often.
type familyRight int

const (
	changesFamily familyRight = iota // registers, ends or tags them: they have to belong to clusters of the key alone
	usesFamily                       // shows or runs them: they have to belong to a cluster of the key, or be shared with one
)

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
	// unscoped is about what every key with the role may see; what lists task definitions or clusters leaves out those that are none of
	// the key's business.
	unscoped = scope{kind: scopeNone}
)

// inCluster is about the clusters in these members of the input: names of clusters, where nothing stands for the default one,
// or ARNs of resources in members whose names end in Arn or Arns, but for clusterArn.
func inCluster(members ...string) scope { return scope{kind: scopeClusters, members: members} }

// ofFamily is about the task definitions, or the families, that these members name.
func ofFamily(right familyRight, members ...string) scope {
	return scope{kind: scopeClusters, families: members, right: right}
}

// using is the scope of a call that only shows what its members name, or also runs the task definitions in more of them.
func (s scope) using(families ...string) scope {
	s.right, s.families = usesFamily, families
	return s
}

// ofDaemons is the scope of a call whose task definitions are those of daemons.
func (s scope) ofDaemons() scope {
	s.kindOf = arn.DaemonDefinition
	return s
}

// check refuses an input about other clusters than those that the caller's key is for, and about task definitions of others.
func (s scope) check(r *Request, operation string, input reflect.Value) error {
	if r.Scope == "" || s.kind == scopeNone {
		return nil
	}
	if s.kind != scopeClusters || len(s.members)+len(s.families) == 0 {
		return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v alone, and %s is about all of them.", r.Principal, r.Scope.Set(), operation)
	}
	for _, member := range s.members {
		if err := s.checkMember(r, member, input); err != nil {
			return err
		}
	}
	for _, member := range s.families {
		for _, given := range textsIn(input, member) {
			if err := s.checkFamily(r, cmp.Or(s.kindOf, arn.TaskDefinition), given); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFamily refuses a task definition of others, given as family, family:revision or ARN. What cannot be read or is not known is the
// handler's to refuse.
func (s scope) checkFamily(r *Request, kind, given string) error {
	parsed, err := arn.Parse(kind, given)
	if err != nil {
		return nil
	}
	if s.right == changesFamily {
		family, _, _ := strings.Cut(parsed.Name, ":")
		return r.Scope.CheckChange(r.Principal, r.View, family)
	}
	if known := r.View.Definition(parsed.Name); known != nil {
		return r.Scope.CheckUse(r.Principal, r.View, known)
	}
	return nil
}

func (s scope) checkMember(r *Request, member string, input reflect.Value) error {
	for _, given := range textsIn(input, member) {
		cluster := given
		if isResource(member) {
			found, shared, err := s.clusterOf(r, given)
			if err != nil {
				return err
			}
			if shared {
				continue
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

// isResource reports whether a member has ARNs of resources of clusters, and not clusters.
func isResource(member string) bool {
	return member != "clusterArn" && (strings.HasSuffix(member, "Arn") || strings.HasSuffix(member, "Arns"))
}

// clusterOf is the cluster of the resource with this ARN. A shared resource belongs to no single cluster, and the key has the right to it.
func (s scope) clusterOf(r *Request, given string) (cluster string, shared bool, err error) {
	parsed, err := arn.ParseAny(given)
	if err != nil {
		return "", false, err
	}
	switch {
	case parsed.Kind == arn.TaskDefinition, parsed.Kind == arn.DaemonDefinition:
		return "", true, s.checkFamily(r, parsed.Kind, given)
	case parsed.Kind == arn.CapacityProvider && s.right == usesFamily:
		return "", true, nil
	case parsed.Kind == arn.CapacityProvider:
		return "", false, wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v alone, and capacity providers belong to all clusters.", r.Principal, r.Scope.Set())
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
	return "", false, wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v, and %s names no cluster: use the ARN in the long form.", r.Principal, r.Scope.Set(), given)
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
