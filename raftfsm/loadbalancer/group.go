package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/traffic"
)

// TargetType is the kind of targets that are registered with a target group.
type TargetType string

// Types of targets.
const (
	Instance TargetType = "instance" // tasks of services, on their hosts' ports
	IP       TargetType = "ip"       // the same, and addresses that RegisterTargets names
)

// TagCluster on a target group names the clusters, by blanks, whose services may register with it though an administrator does not say so; * is
// every cluster.
const TagCluster = "pinion.cluster"

// Group is a target group: who gets the requests of a rule, and how it is found healthy.
type Group struct {
	ID         string              `json:"id"` // 16 hex digits
	Name       string              `json:"name"`
	Protocol   traffic.Protocol    `json:"protocol"`          // HTTP or TCP
	Version    traffic.Version     `json:"version,omitempty"` // of HTTP
	Port       int                 `json:"port,omitempty"`    // of targets that are registered without one; those of tasks have their own
	VPC        string              `json:"vpc,omitempty"`     // the user's word, without effect
	TargetType TargetType          `json:"targetType"`
	Health     traffic.HealthCheck `json:"health"`
	Targets    []Target            `json:"targets,omitempty"`    // registered by address
	Attributes map[string]string   `json:"attributes,omitempty"` // that were set; the others have their defaults
	Tags       []spec.Tag          `json:"tags,omitempty"`
	CreatedAt  time.Time           `json:"createdAt"`
	CreatedBy  string              `json:"createdBy"` // ARN of the principal
}

// Target is an address that is registered with a group of the type IP.
type Target struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
}

// Indexes of target groups.
var (
	GroupsByID   = table.By(func(g *Group) string { return g.ID })
	GroupsByName = table.By(func(g *Group) string { return g.Name })
)

// FindGroup returns nil when the id is unknown.
func FindGroup(r table.Reader, id string) *Group { return GroupsByID.Get(r, sortkey.Key{First: id}) }

// GroupNamed returns nil when no group has the name.
func GroupNamed(r table.Reader, name string) *Group {
	return GroupsByName.Get(r, sortkey.Key{First: name})
}

// Groups lists the target groups by name.
func Groups(r table.Reader) []*Group { return slices.Collect(GroupsByName.All(r)) }

// OpenTo reports whether everybody who may change services of the cluster may register them with the group: its tag TagCluster says so.
func (g *Group) OpenTo(cluster string) bool {
	value, _ := g.Tag(TagCluster)
	clusters := strings.Fields(value)
	return slices.Contains(clusters, cluster) || slices.Contains(clusters, "*")
}

// CreateGroup records a target group. ErrNameTaken, spec.ErrLimit. Answer: *Group.
type CreateGroup struct{ Group Group }

// Apply carries the command out.
func (c CreateGroup) Apply(tx command.Transaction) (any, error) {
	g := &c.Group
	switch {
	case GroupNamed(tx, g.Name) != nil || FindGroup(tx, g.ID) != nil:
		return nil, fmt.Errorf("target group %s: %w", g.Name, ErrNameTaken)
	case len(Groups(tx)) >= MaxGroups:
		return nil, fmt.Errorf("%w: a pool may have %d target groups", spec.ErrLimit, MaxGroups)
	}
	tx.Put(g)
	return g, nil
}

// UpdateGroup changes a target group: its health check when it is given, attributes beside those that it has, and targets that are registered
// or not any more. spec.ErrNotFound, spec.ErrLimit, ErrMisfit for targets of a group that is not of IP. Answer: *Group.
type UpdateGroup struct {
	ID         string
	Health     *traffic.HealthCheck
	Attributes map[string]string
	Register   []Target
	Deregister []Target
}

// Apply carries the command out.
func (c UpdateGroup) Apply(tx command.Transaction) (any, error) {
	known := FindGroup(tx, c.ID)
	if known == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoGroup, c.ID)
	}
	changed, err := *known, error(nil)
	if c.Health != nil {
		changed.Health = *c.Health
	}
	if changed.Attributes, err = merge(known.Attributes, c.Attributes); err != nil {
		return nil, err
	}
	if len(c.Register) > 0 && known.TargetType != IP {
		return nil, fmt.Errorf("target group %s: %w: its targets are tasks of services alone", known.Name, ErrMisfit)
	}
	changed.Targets = slices.DeleteFunc(slices.Clone(known.Targets), func(t Target) bool {
		return slices.Contains(c.Deregister, t) || slices.Contains(c.Register, t)
	})
	if changed.Targets = append(changed.Targets, c.Register...); len(changed.Targets) > MaxTargets {
		return nil, fmt.Errorf("target group %s: %w: it may have %d registered targets", known.Name, spec.ErrLimit, MaxTargets)
	}
	tx.Put(&changed)
	return &changed, nil
}
