package elb

import (
	"errors"

	"pinion/api/wire"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
)

// Refusals in ELB's words, which clients match by their type.
var (
	errNoListener = wire.Errorf("ListenerNotFound", "One or more listeners not found")
	errNoRule     = wire.Errorf("RuleNotFound", "One or more rules not found")
	errNoGroup    = wire.Errorf("TargetGroupNotFound", "One or more target groups not found")
)

func errNoLoadBalancer(named string) error {
	return wire.Errorf("LoadBalancerNotFound", "Load balancers '[%s]' not found", named)
}

// refusals maps the errors of commands to ELB's types; the first that errors.Is finds counts.
var refusals = []struct {
	err error
	typ string
}{
	{loadbalancer.ErrPortTaken, "DuplicateListener"},
	{loadbalancer.ErrPortOfHost, "InvalidConfigurationRequest"},
	{loadbalancer.ErrPriorityTaken, "PriorityInUse"},
	{loadbalancer.ErrNoGroup, "TargetGroupNotFound"},
	{loadbalancer.ErrMisfit, "InvalidConfigurationRequest"},
	{loadbalancer.ErrDefaultRule, "OperationNotPermitted"},
	{spec.ErrInUse, "ResourceInUse"},
	{spec.ErrTooManyTags, "TooManyTags"},
}

// refusalOf is the error of a command as clients see it.
func refusalOf(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return wire.Errorf(r.typ, "%v", err)
		}
	}
	return err
}

// as gives an error of a command another type than it has by itself.
func as(err, is error, typ string) error {
	if err != nil && errors.Is(err, is) {
		return wire.Errorf(typ, "%v", err)
	}
	return err
}
