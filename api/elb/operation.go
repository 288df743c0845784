package elb

import (
	"context"
	"slices"
	"strings"

	"pinion/api/auth"
	"pinion/api/query"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// Operation is one line of the table.
type Operation struct {
	Name   string
	Writes bool // changes the state: for administrators
	Scope  auth.Scope
	Lists  bool // its answer may be as long as a target group has tasks: few are put together at once
	run    handler
}

// Role is the least role of the keys that may call it.
func (o Operation) Role() accesskey.Role {
	if o.Writes {
		return accesskey.RoleAdmin
	}
	return accesskey.RoleRead
}

// handler answers an operation with what stands in its result element.
type handler func(ctx context.Context, r *Request, in form) (any, error)

// Operations is the table, by name. Load balancers are of the pool: every key sees them, and who changes them is an administrator of all of it.
var Operations = table(
	read("DescribeLoadBalancers", auth.Unscoped, describeLoadBalancers),
	read("DescribeLoadBalancerAttributes", auth.Unscoped, describeLoadBalancerAttributes),
	read("DescribeCapacityReservation", auth.Unscoped, describeCapacityReservation),
	read("DescribeTargetGroups", auth.Unscoped, describeTargetGroups),
	read("DescribeTargetGroupAttributes", auth.Unscoped, describeTargetGroupAttributes),
	lists(read("DescribeTargetHealth", auth.PerResource, describeTargetHealth)),
	read("DescribeListeners", auth.Unscoped, describeListeners),
	read("DescribeListenerAttributes", auth.Unscoped, describeListenerAttributes),
	read("DescribeListenerCertificates", auth.Unscoped, describeListenerCertificates),
	read("DescribeRules", auth.Unscoped, describeRules),
	read("DescribeTags", auth.Unscoped, describeTags),
	read("DescribeAccountLimits", auth.Unscoped, describeAccountLimits),

	write("CreateLoadBalancer", auth.PoolWide, createLoadBalancer),
	write("ModifyLoadBalancerAttributes", auth.PoolWide, modifyLoadBalancerAttributes),
	write("SetSubnets", auth.PoolWide, setSubnets),
	write("SetSecurityGroups", auth.PoolWide, setSecurityGroups),
	write("SetIpAddressType", auth.PoolWide, setAddressType),
	write("DeleteLoadBalancer", auth.PoolWide, deleteLoadBalancer),
	write("CreateTargetGroup", auth.PoolWide, createTargetGroup),
	write("ModifyTargetGroup", auth.PoolWide, modifyTargetGroup),
	write("ModifyTargetGroupAttributes", auth.PoolWide, modifyTargetGroupAttributes),
	write("DeleteTargetGroup", auth.PoolWide, deleteTargetGroup),
	write("RegisterTargets", auth.PoolWide, registerTargets),
	write("DeregisterTargets", auth.PoolWide, deregisterTargets),
	write("CreateListener", auth.PoolWide, createListener),
	write("ModifyListener", auth.PoolWide, modifyListener),
	write("ModifyListenerAttributes", auth.PoolWide, modifyListenerAttributes),
	write("AddListenerCertificates", auth.PoolWide, addListenerCertificates),
	write("RemoveListenerCertificates", auth.PoolWide, removeListenerCertificates),
	write("DeleteListener", auth.PoolWide, deleteListener),
	write("CreateRule", auth.PoolWide, createRule),
	write("ModifyRule", auth.PoolWide, modifyRule),
	write("SetRulePriorities", auth.PoolWide, setRulePriorities),
	write("DeleteRule", auth.PoolWide, deleteRule),
	write("AddTags", auth.PoolWide, addTags),
	write("RemoveTags", auth.PoolWide, removeTags),
)

func table(all ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(all))
	for _, o := range all {
		byName[o.Name] = o
	}
	return byName
}

func read(name string, s auth.Scope, run handler) Operation {
	return Operation{Name: name, Scope: s, run: run}
}

func write(name string, s auth.Scope, run handler) Operation {
	return Operation{Name: name, Writes: true, Scope: s, run: run}
}

// lists says that an operation looks at every task of a target group.
func lists(o Operation) Operation {
	o.Lists = true
	return o
}

// Find returns the operation of that name, or an error that names the known ones.
func Find(name string) (Operation, error) {
	if found, is := Operations[name]; is {
		return found, nil
	}
	var known []string
	for name := range Operations {
		known = append(known, name)
	}
	slices.Sort(known)
	return Operation{}, wire.Errorf("InvalidAction", "pinion: %s is not supported: of Elastic Load Balancing there are %s", name, strings.Join(known, ", "))
}

// Run decodes the form of a request, and answers it with the text of the response.
func (o Operation) Run(ctx context.Context, r *Request, body []byte, requestID string) ([]byte, error) {
	in, err := parseForm(body)
	if err != nil {
		return nil, err
	}
	result, err := o.run(ctx, r, in)
	if err != nil {
		return nil, err
	}
	return query.Response(namespace, o.Name, result, requestID)
}
