package auth

import (
	"cmp"
	"net/url"
	"reflect"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Scope says which clusters and task definitions the calls of a line are about, so that a key that is for some clusters is held to them in one
// place. Every line of every table of operations and routes has one; the zero value refuses such keys, as PoolWide does.
type Scope struct {
	kind     scopeKind
	members  []string    // of the input, by their JSON names; see InCluster
	families []string    // members that name task definitions or families, by their JSON names
	kindOf   string      // of the task definitions in families, as ARNs name them; empty: arn.TaskDefinition
	right    FamilyRight // to those, and to task definitions and capacity providers in members
}

// FamilyRight is what a call does with the task definitions that it names. The zero value is the one that is refused more often.
type FamilyRight int

// What a call does with task definitions.
const (
	ChangesFamily FamilyRight = iota // registers, ends or tags them: they have to belong to clusters of the key alone
	UsesFamily                       // shows or runs them: they have to belong to a cluster of the key, or be shared with one
)

type scopeKind int

const (
	scopeMissing scopeKind = iota
	scopePool
	scopeNone
	scopeResources
	scopeClusters
)

var (
	// PoolWide is about all clusters: a key for one of them may not call it.
	PoolWide = Scope{kind: scopePool}
	// Unscoped is about what every key with the role may see, or about the caller alone.
	Unscoped = Scope{kind: scopeNone}
	// PerResource is about resources that the input does not name the clusters of, or any number of them: its handler asks the principal about each
	// one, and what the principal may not see is as if it were not there.
	PerResource = Scope{kind: scopeResources}
)

// InCluster is about the clusters in these members of the input, or of the query of a route: names of clusters, or resources of clusters. In an
// input nothing stands for the default cluster; in a query it stands for all that the key is for. Members that end in Arn or Arns, but for
// clusterArn, have ARNs, and ResourceId has a service as service/CLUSTER/NAME.
func InCluster(members ...string) Scope { return Scope{kind: scopeClusters, members: members} }

// OfFamily is about the task definitions, or the families, that these members name.
func OfFamily(right FamilyRight, members ...string) Scope {
	return Scope{kind: scopeClusters, families: members, right: right}
}

// Members are those of the input that name clusters and their resources, and those that name families.
func (s Scope) Members() (clusters, families []string) { return s.members, s.families }

// Names reports whether the scope says what calls are about. Where it does not, keys for some clusters are refused: a line was forgotten.
func (s Scope) Names() bool {
	return s.kind != scopeMissing && (s.kind != scopeClusters || len(s.members)+len(s.families) > 0)
}

// IsPoolWide reports whether keys for some clusters are refused on purpose.
func (s Scope) IsPoolWide() bool { return s.kind == scopePool }

// IsPerResource reports whether handlers of the line hold the caller to its clusters: see PerResource.
func (s Scope) IsPerResource() bool { return s.kind == scopeResources }

// Admits refuses a key for some clusters what is about the whole pool, and a line that does not say what it is about.
func (s Scope) Admits(p Principal, operation string) error {
	if p.Clusters == "" || !s.IsPoolWide() && s.Names() {
		return nil
	}
	return p.RequireUnscoped(operation)
}

// CheckQuery refuses a request of a route about another cluster than those that the caller's key is for.
func (s Scope) CheckQuery(p Principal, query url.Values) error {
	for _, member := range s.members {
		for _, cluster := range query[member] {
			if cluster == "" {
				continue
			}
			if err := p.RequireCluster(cluster); err != nil {
				return err
			}
		}
	}
	return nil
}

// Using is the scope of a call that only shows what its members name, or also runs the task definitions in more of them.
func (s Scope) Using(families ...string) Scope {
	s.right, s.families = UsesFamily, families
	return s
}

// OfDaemons is the scope of a call whose task definitions are those of daemons.
func (s Scope) OfDaemons() Scope {
	s.kindOf = arn.DaemonDefinition
	return s
}

// Check refuses an input about other clusters than those that the caller's key is for, and about task definitions of others.
func (s Scope) Check(p Principal, v *raftfsm.View, operation string, input reflect.Value) error {
	if err := s.Admits(p, operation); err != nil || p.Clusters == "" {
		return err
	}
	r := caller{p, v}
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

// caller is who calls, and what they see the state as.
type caller struct {
	Principal
	view *raftfsm.View
}

// checkFamily refuses a task definition of others, given as family, family:revision or ARN. What cannot be read or is not known is the
// handler's to refuse.
func (s Scope) checkFamily(r caller, kind, given string) error {
	parsed, err := arn.Parse(kind, given)
	if err != nil {
		return nil
	}
	if s.right == ChangesFamily {
		family, _, _ := strings.Cut(parsed.Name, ":")
		return r.Clusters.CheckChange(r.ARN, r.view, family)
	}
	if known := r.view.Definition(parsed.Name); known != nil {
		return r.Clusters.CheckUse(r.ARN, r.view, known)
	}
	return nil
}

func (s Scope) checkMember(r caller, member string, input reflect.Value) error {
	for _, given := range textsIn(input, member) {
		cluster, shared, err := s.named(r, member, given)
		if err != nil {
			return err
		}
		if shared {
			continue
		}
		if err := r.RequireCluster(cluster); err != nil {
			return err
		}
	}
	return nil
}

// named is the cluster that a member names; shared when it names none that a key could be held to.
func (s Scope) named(r caller, member, given string) (cluster string, shared bool, err error) {
	switch {
	case member == memberService:
		kind, rest, _ := strings.Cut(given, "/")
		cluster, _, named := strings.Cut(rest, "/")
		return cluster, kind != "service" || !named, nil // what cannot be read is the handler's to refuse
	case isResource(member):
		return s.clusterOf(r, given)
	}
	parsed, err := arn.Parse(arn.Cluster, cmp.Or(given, spec.DefaultCluster))
	return parsed.Cluster, false, err
}

// memberService is the member that has a service as service/CLUSTER/NAME.
const memberService = "ResourceId"

// isResource reports whether a member has ARNs of resources of clusters, and not clusters.
func isResource(member string) bool {
	return member != "clusterArn" && (strings.HasSuffix(member, "Arn") || strings.HasSuffix(member, "Arns"))
}

// clusterOf is the cluster of the resource with this ARN. A shared resource belongs to no single cluster, and the key has the right to it.
func (s Scope) clusterOf(r caller, given string) (cluster string, shared bool, err error) {
	parsed, err := arn.ParseAny(given)
	if err != nil {
		return "", false, err
	}
	switch {
	case parsed.Kind == arn.TaskDefinition, parsed.Kind == arn.DaemonDefinition:
		return "", true, s.checkFamily(r, parsed.Kind, given)
	case parsed.Kind == arn.CapacityProvider && s.right == UsesFamily:
		return "", true, nil
	case parsed.Kind == arn.CapacityProvider:
		return "", false, wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v alone, and capacity providers belong to all clusters.", r.ARN, r.Clusters.Set())
	case parsed.Cluster != "":
		return parsed.Cluster, false, nil
	case parsed.Kind == arn.Task:
		if task := r.view.Task(parsed.Name); task != nil {
			return task.Cluster, false, nil
		}
	case parsed.Kind == arn.ContainerInstance:
		if host := r.view.Host(parsed.Name); host != nil {
			return host.Cluster, false, nil
		}
	}
	return "", false, wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v, and %s names no cluster: use the ARN in the long form.", r.ARN, r.Clusters.Set(), given)
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
