// Package loadbalancer has the load balancers of a pool as Elastic Load Balancing (v2) knows them: load balancers, their listeners with their
// rules, and target groups; how the state keeps them, and the commands that change them. Package raftfsm registers both. What the proxies of
// hosts make of the objects is in package traffic.
//
// Every load balancer is served by every host of the pool, on the host's own addresses. So a port has one listener in the whole pool, and no
// task of any host has it.
package loadbalancer

import (
	"errors"
	"fmt"

	"pinion/raftfsm/spec"
)

// Kinds of resources with tags, as in the ARNs of Elastic Load Balancing; no request to ECS reaches them.
const (
	Resource         spec.ResourceKind = "loadbalancer"
	ResourceGroup    spec.ResourceKind = "targetgroup"
	ResourceListener spec.ResourceKind = "listener"
	ResourceRule     spec.ResourceKind = "listener-rule"
)

// Bounds of what a pool has, Amazon's where it has one.
const (
	MaxLoadBalancers = 100
	MaxGroups        = 3_000
	MaxListeners     = 100   // of a load balancer
	MaxRules         = 200   // of a listener, without the default one
	MaxTargets       = 1_000 // of a group, registered by address
	MaxAttributes    = 100   // of an object
	MaxPriority      = 50_000
)

// Why a command is refused, beside spec.ErrNotFound, spec.ErrInUse and spec.ErrLimit. They are wrapped with what they are about.
var (
	ErrNameTaken     = fmt.Errorf("%w: there is one of that name", spec.ErrInUse)
	ErrPortTaken     = fmt.Errorf("%w: every load balancer listens on every host, so a port has one listener in the pool", spec.ErrInUse)
	ErrPortOfHost    = fmt.Errorf("%w on a host: every host listens on the ports of all listeners", spec.ErrInUse)
	ErrPriorityTaken = fmt.Errorf("%w: another rule of the listener has that priority", spec.ErrInUse)
	ErrNoGroup       = fmt.Errorf("target group %w", spec.ErrNotFound)
	ErrMisfit        = errors.New("does not fit")
	ErrDefaultRule   = errors.New("the default rule is changed and deleted with its listener alone")
)
