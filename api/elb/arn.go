package elb

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
)

// ARNs are loadbalancer/app/NAME/ID, targetgroup/NAME/ID, listener/app/NAME/ID/LISTENER and listener-rule/app/NAME/ID/LISTENER/RULE.

func arn(region, resource string) string {
	return "arn:aws:" + Service + ":" + region + ":" + spec.AccountID + ":" + resource
}

func path(b *loadbalancer.LoadBalancer) string {
	kind := "app"
	if b.Type == loadbalancer.Network {
		kind = "net"
	}
	return kind + "/" + b.Name + "/" + b.ID
}

func (r *Request) loadBalancerARN(b *loadbalancer.LoadBalancer) string {
	return arn(r.Principal.Region, "loadbalancer/"+path(b))
}

func (r *Request) groupARN(g *loadbalancer.Group) string {
	return arn(r.Principal.Region, "targetgroup/"+g.Name+"/"+g.ID)
}

func (r *Request) listenerARN(l *loadbalancer.Listener) string {
	return arn(r.Principal.Region, "listener/"+r.pathOf(l.LoadBalancer)+"/"+l.ID)
}

func (r *Request) ruleARN(rule *loadbalancer.Rule) string {
	of := ""
	if l := loadbalancer.FindListener(r.View, rule.Listener); l != nil {
		of = r.pathOf(l.LoadBalancer)
	}
	return arn(r.Principal.Region, "listener-rule/"+of+"/"+rule.Listener+"/"+rule.ID)
}

func (r *Request) pathOf(loadBalancer string) string {
	if b := loadbalancer.Find(r.View, loadBalancer); b != nil {
		return path(b)
	}
	return loadBalancer
}

// parts are the numbers of names behind the kind of an ARN; the last one is the id.
var parts = map[spec.ResourceKind]int{
	loadbalancer.Resource: 3, loadbalancer.ResourceGroup: 2, loadbalancer.ResourceListener: 4, loadbalancer.ResourceRule: 5,
}

// ParseARN reads the ARN of an object of ELB: its kind and id. Names in it are not compared: an id belongs to one object for ever.
func ParseARN(given string) (kind spec.ResourceKind, id string, err error) {
	fields := strings.SplitN(given, ":", 6)
	if len(fields) == 6 && fields[0] == "arn" && fields[2] == Service && fields[4] == spec.AccountID {
		names := strings.Split(fields[5], "/")
		if kind = spec.ResourceKind(names[0]); parts[kind] > 0 && len(names) == parts[kind]+1 && names[parts[kind]] != "" {
			return kind, names[parts[kind]], nil
		}
	}
	return "", "", wire.Errorf("ValidationError", "'%s' is not a valid ARN of Elastic Load Balancing of account %s", given, spec.AccountID)
}

// idIn is the id in an ARN of that kind.
func idIn(kind spec.ResourceKind, given string) (string, error) {
	is, id, err := ParseARN(given)
	if err == nil && is != kind {
		err = wire.Errorf("ValidationError", "'%s' is not a valid %s ARN", given, kind)
	}
	return id, err
}

// newID is 16 hex digits.
func newID() string {
	var id [8]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// find reads the ARN in a parameter, and finds the object; missing is the refusal when it is not there.
func find[T any](in form, parameter string, kind spec.ResourceKind, lookup func(id string) *T, missing error) (*T, error) {
	given, err := in.required(parameter)
	if err != nil {
		return nil, err
	}
	id, err := idIn(kind, given)
	if err != nil {
		return nil, err
	}
	if found := lookup(id); found != nil {
		return found, nil
	}
	return nil, missing
}

func (r *Request) findLoadBalancer(in form) (*loadbalancer.LoadBalancer, error) {
	return find(in, "LoadBalancerArn", loadbalancer.Resource, func(id string) *loadbalancer.LoadBalancer { return loadbalancer.Find(r.View, id) }, errNoLoadBalancer(in.text("LoadBalancerArn")))
}

func (r *Request) findGroup(in form) (*loadbalancer.Group, error) {
	return find(in, "TargetGroupArn", loadbalancer.ResourceGroup, func(id string) *loadbalancer.Group { return loadbalancer.FindGroup(r.View, id) }, errNoGroup)
}

func (r *Request) findListener(in form) (*loadbalancer.Listener, error) {
	return find(in, "ListenerArn", loadbalancer.ResourceListener, func(id string) *loadbalancer.Listener { return loadbalancer.FindListener(r.View, id) }, errNoListener)
}

func (r *Request) findRule(in form) (*loadbalancer.Rule, error) {
	return find(in, "RuleArn", loadbalancer.ResourceRule, func(id string) *loadbalancer.Rule { return loadbalancer.FindRule(r.View, id) }, errNoRule)
}

// named finds the objects that a request names by ARNs or names, each once and in its order; all of them when it names none. Each that is
// missing refuses the request.
func named[T any](in form, arns, names string, kind spec.ResourceKind, byID, byName func(string) *T, all []*T, missing func(string) error) (found []*T, err error) {
	givenARNs, err := in.list(arns)
	if err != nil {
		return nil, err
	}
	var givenNames []string
	if names != "" {
		if givenNames, err = in.list(names); err != nil {
			return nil, err
		}
	}
	if len(givenARNs) == 0 && len(givenNames) == 0 {
		return all, nil
	}
	for _, given := range givenARNs {
		id, err := idIn(kind, given)
		if err != nil {
			return nil, err
		}
		object := byID(id)
		if object == nil {
			return nil, missing(given)
		}
		found = append(found, object)
	}
	for _, given := range givenNames {
		object := byName(given)
		if object == nil {
			return nil, missing(given)
		}
		found = append(found, object)
	}
	return found, nil
}
