package elb

import (
	"context"
	"slices"
	"strings"

	"pinion/api/query"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// Operation is one line of the table.
type Operation struct {
	Name   string
	Writes bool // changes the state: for administrators whose key is for the whole pool
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

// Operations is the table, by name.
var Operations = table(
	read("DescribeLoadBalancers", describeLoadBalancers),
	read("DescribeLoadBalancerAttributes", describeLoadBalancerAttributes),
	read("DescribeCapacityReservation", describeCapacityReservation),
	read("DescribeTargetGroups", describeTargetGroups),
	read("DescribeTargetGroupAttributes", describeTargetGroupAttributes),
	read("DescribeTargetHealth", describeTargetHealth),
	read("DescribeListeners", describeListeners),
	read("DescribeListenerAttributes", describeListenerAttributes),
	read("DescribeListenerCertificates", describeListenerCertificates),
	read("DescribeRules", describeRules),
	read("DescribeTags", describeTags),
	read("DescribeAccountLimits", describeAccountLimits),

	write("CreateLoadBalancer", createLoadBalancer),
	write("ModifyLoadBalancerAttributes", modifyLoadBalancerAttributes),
	write("SetSubnets", setSubnets),
	write("SetSecurityGroups", setSecurityGroups),
	write("SetIpAddressType", setAddressType),
	write("DeleteLoadBalancer", deleteLoadBalancer),
	write("CreateTargetGroup", createTargetGroup),
	write("ModifyTargetGroup", modifyTargetGroup),
	write("ModifyTargetGroupAttributes", modifyTargetGroupAttributes),
	write("DeleteTargetGroup", deleteTargetGroup),
	write("RegisterTargets", registerTargets),
	write("DeregisterTargets", deregisterTargets),
	write("CreateListener", createListener),
	write("ModifyListener", modifyListener),
	write("ModifyListenerAttributes", modifyListenerAttributes),
	write("AddListenerCertificates", addListenerCertificates),
	write("RemoveListenerCertificates", removeListenerCertificates),
	write("DeleteListener", deleteListener),
	write("CreateRule", createRule),
	write("ModifyRule", modifyRule),
	write("SetRulePriorities", setRulePriorities),
	write("DeleteRule", deleteRule),
	write("AddTags", addTags),
	write("RemoveTags", removeTags),
)

func table(all ...Operation) map[string]Operation {
	byName := make(map[string]Operation, len(all))
	for _, o := range all {
		byName[o.Name] = o
	}
	return byName
}

func read(name string, run handler) Operation  { return Operation{Name: name, run: run} }
func write(name string, run handler) Operation { return Operation{Name: name, Writes: true, run: run} }

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
