package loadbalancer

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/traffic"
)

// Type is ELB's type of a load balancer.
type Type string

// Types of load balancers.
const (
	Application Type = "application" // HTTP and HTTPS, with rules
	Network     Type = "network"     // TCP and TLS
)

// LoadBalancer is the owner of listeners. Subnets and security groups are the user's words: they are kept and have no effect.
type LoadBalancer struct {
	ID             string            `json:"id"` // 16 hex digits
	Name           string            `json:"name"`
	Type           Type              `json:"type"`
	Scheme         string            `json:"scheme"` // internal or internet-facing
	AddressType    string            `json:"addressType,omitempty"`
	Subnets        []string          `json:"subnets,omitempty"`
	SecurityGroups []string          `json:"securityGroups,omitempty"`
	Attributes     map[string]string `json:"attributes,omitempty"` // that were set; the others have their defaults
	Tags           []spec.Tag        `json:"tags,omitempty"`
	CreatedAt      time.Time         `json:"createdAt"`
	CreatedBy      string            `json:"createdBy"` // ARN of the principal
}

// Indexes of load balancers.
var (
	ByID   = table.By(func(b *LoadBalancer) string { return b.ID })
	ByName = table.By(func(b *LoadBalancer) string { return b.Name })
)

// Find returns nil when the id is unknown.
func Find(r table.Reader, id string) *LoadBalancer { return ByID.Get(r, sortkey.Key{First: id}) }

// Named returns nil when no load balancer has the name.
func Named(r table.Reader, name string) *LoadBalancer { return ByName.Get(r, sortkey.Key{First: name}) }

// All lists the load balancers by name.
func All(r table.Reader) []*LoadBalancer { return slices.Collect(ByName.All(r)) }

// Accepts reports whether listeners of the load balancer may have the protocol.
func (b *LoadBalancer) Accepts(p traffic.Protocol) bool { return p.IsHTTP() == (b.Type == Application) }

// Create records a load balancer. ErrNameTaken, spec.ErrLimit. Answer: *LoadBalancer.
type Create struct{ LoadBalancer LoadBalancer }

// Apply carries the command out.
func (c Create) Apply(tx command.Transaction) (any, error) {
	b := &c.LoadBalancer
	switch {
	case Named(tx, b.Name) != nil || Find(tx, b.ID) != nil:
		return nil, fmt.Errorf("load balancer %s: %w", b.Name, ErrNameTaken)
	case len(All(tx)) >= MaxLoadBalancers:
		return nil, fmt.Errorf("%w: a pool may have %d load balancers", spec.ErrLimit, MaxLoadBalancers)
	}
	tx.Put(b)
	return b, nil
}

// Update changes a load balancer: attributes beside those that it has, and the others where they are not nil. spec.ErrNotFound, spec.ErrLimit.
// Answer: *LoadBalancer.
type Update struct {
	ID             string
	Attributes     map[string]string
	Subnets        []string
	SecurityGroups []string
	AddressType    string
}

// Apply carries the command out.
func (c Update) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.ID)
	if known == nil {
		return nil, fmt.Errorf("load balancer %s: %w", c.ID, spec.ErrNotFound)
	}
	changed, err := *known, error(nil)
	if changed.Attributes, err = merge(known.Attributes, c.Attributes); err != nil {
		return nil, err
	}
	if c.Subnets != nil {
		changed.Subnets = c.Subnets
	}
	if c.SecurityGroups != nil {
		changed.SecurityGroups = c.SecurityGroups
	}
	if c.AddressType != "" {
		changed.AddressType = c.AddressType
	}
	tx.Put(&changed)
	return &changed, nil
}

// merge is attributes with others in place of those of the same key.
func merge(known, given map[string]string) (map[string]string, error) {
	if len(given) == 0 {
		return known, nil
	}
	all := maps.Clone(known)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, given)
	if len(all) > MaxAttributes {
		return nil, fmt.Errorf("%w: an object may have %d attributes", spec.ErrLimit, MaxAttributes)
	}
	return all, nil
}

// Delete forgets objects by their ids: a load balancer with its listeners, a listener with its rules, a rule, a target group. What is not there
// is no error. spec.ErrInUse for a group that a rule or a service names, ErrDefaultRule. Answer: nil.
type Delete struct{ LoadBalancer, Listener, Rule, Group string }

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	if b := Find(tx, c.LoadBalancer); b != nil {
		for _, l := range Listeners(tx, b.ID) {
			removeListener(tx, l)
		}
		tx.Remove(b)
	}
	if l := FindListener(tx, c.Listener); l != nil {
		removeListener(tx, l)
	}
	if rule := FindRule(tx, c.Rule); rule != nil {
		if rule.Default() {
			return nil, fmt.Errorf("rule %s: %w", rule.ID, ErrDefaultRule)
		}
		tx.Remove(rule)
	}
	if g := FindGroup(tx, c.Group); g != nil {
		if user := groupUser(tx, g.ID); user != "" {
			return nil, fmt.Errorf("target group %s: %w by %s", g.Name, spec.ErrInUse, user)
		}
		tx.Remove(g)
	}
	return nil, nil
}

// removeListener forgets a listener and its rules.
func removeListener(tx command.Transaction, l *Listener) {
	for _, rule := range Rules(tx, l.ID) {
		tx.Remove(rule)
	}
	tx.Remove(l)
}

// groupUser says what needs a target group; empty: nothing does.
func groupUser(tx command.Transaction, id string) string {
	for rule := range RulesByID.All(tx) {
		if names(&rule.Action, id) {
			return "rule " + rule.ID + " of listener " + rule.Listener
		}
	}
	if name := serviceOf(tx, id); name != "" {
		return "service " + name
	}
	return ""
}
