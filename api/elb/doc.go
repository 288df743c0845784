// Package elb serves Amazon's Elastic Load Balancing (version 2): the operations with which the AWS CLI, SDKs and Terraform make load balancers,
// listeners, rules and target groups, in the query protocol (2015-12-01). It maps them to package loadbalancer; every host of the pool serves
// all of them.
//
// Load balancers belong to the pool. Every access key may read them; an administrator's key that is for all clusters may change them, and the
// chain of package api sees to that by the table of operations. Of targets a key sees those that are tasks which it may see. Whose tasks may
// register with a group is decided in package ecs, by loadbalancer.Group.OpenTo.
//
// What Pinion cannot do is refused by name: UDP, lambda targets, authentication, WAF, access logs in S3.
package elb

import (
	"context"
	"time"

	"pinion/api/auth"
	"pinion/raftfsm"
	"pinion/raftfsm/command"
)

// Service is the name in the scope of signatures, Version that of the protocol.
const (
	Service = "elasticloadbalancing"
	Version = "2015-12-01"
)

// Request is one request for one operation. It is used by one goroutine.
type Request struct {
	Principal auth.Principal
	View      *raftfsm.View // linearizable
	Store     Store         // for changes
	Now       func() time.Time
}

// Store records changes.
type Store interface {
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
}

// change records a command, and returns its answer or the refusal in ELB's terms.
func change[T any, C command.Command](ctx context.Context, r *Request, c C) (answer T, err error) {
	given, err := r.Store.Propose(ctx, raftfsm.Wrap(c))
	if err != nil {
		return answer, refusalOf(err)
	}
	answer, _ = given.(T)
	return answer, nil
}
