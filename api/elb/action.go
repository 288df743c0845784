package elb

import (
	"cmp"
	"strconv"

	"pinion/api/wire"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/traffic"
)

// actionView is an action as clients see it.
type actionView struct {
	Type                string
	Order               int
	TargetGroupArn      string             `xml:",omitempty"`
	ForwardConfig       *forwardView       `xml:",omitempty"`
	RedirectConfig      *redirectView      `xml:",omitempty"`
	FixedResponseConfig *fixedResponseView `xml:",omitempty"`
}

type forwardView struct {
	TargetGroups                []weightedView `xml:"TargetGroups>member"`
	TargetGroupStickinessConfig struct{ Enabled bool }
}

type weightedView struct {
	TargetGroupArn string
	Weight         int
}

type redirectView struct {
	Protocol, Port, Host, Path, Query, StatusCode string
}

type fixedResponseView struct {
	MessageBody string `xml:",omitempty"`
	StatusCode  string
	ContentType string `xml:",omitempty"`
}

// showActions shows an action, as the list of one that ELB has.
func (r *Request) showActions(a *traffic.Action) []actionView {
	v := actionView{Order: 1}
	switch {
	case a.Redirect != nil:
		d := a.Redirect
		v.Type = "redirect"
		v.RedirectConfig = &redirectView{d.Protocol, d.Port, d.Host, d.Path, d.Query, "HTTP_" + itoa(d.StatusCode)}
	case a.FixedResponse != nil:
		v.Type = "fixed-response"
		v.FixedResponseConfig = &fixedResponseView{a.FixedResponse.Body, itoa(a.FixedResponse.StatusCode), a.FixedResponse.ContentType}
	default:
		v.Type, v.ForwardConfig = "forward", &forwardView{}
		for _, w := range a.Forward {
			arn := arn(r.Principal.Region, "targetgroup/-/"+w.Group) // of a group that is gone; a rule keeps its groups
			if g := loadbalancer.FindGroup(r.View, w.Group); g != nil {
				arn = r.groupARN(g)
			}
			v.ForwardConfig.TargetGroups = append(v.ForwardConfig.TargetGroups, weightedView{arn, w.Weight})
			if v.TargetGroupArn = arn; len(a.Forward) > 1 {
				v.TargetGroupArn = ""
			}
		}
	}
	return []actionView{v}
}

// actionIn reads the one action that a request names.
func (r *Request) actionIn(in form, name string) (*traffic.Action, error) {
	given, err := in.structures(name)
	if err != nil {
		return nil, err
	}
	for _, one := range given {
		if kind := one.text("Type"); kind == "authenticate-oidc" || kind == "authenticate-cognito" || kind == "jwt-validation" {
			return nil, refused("actions of the type %s are not supported: let the service behind the listener ask who calls.", kind)
		}
	}
	if len(given) != 1 {
		return nil, wire.Errorf("InvalidLoadBalancerAction", "%s must be one action: forward, redirect or fixed-response", name)
	}
	one := given[0]
	switch kind := one.text("Type"); kind {
	case "forward":
		forward, err := forwardIn(one)
		return &traffic.Action{Forward: forward}, err
	case "redirect":
		redirect, err := redirectIn(one.in("RedirectConfig"))
		return &traffic.Action{Redirect: redirect}, err
	case "fixed-response":
		fixed, err := fixedResponseIn(one.in("FixedResponseConfig"))
		return &traffic.Action{FixedResponse: fixed}, err
	default:
		return nil, wire.Errorf("InvalidLoadBalancerAction", "The action type '%s' is not valid: it can be forward, redirect or fixed-response", kind)
	}
}

// Bounds of an action that forwards, ELB's.
const (
	maxForwardGroups = 5
	maxWeight        = 999
)

// forwardIn reads the groups of an action: one by its ARN, or some with weights.
func forwardIn(in form) (all []traffic.WeightedGroup, err error) {
	if in.text("ForwardConfig.TargetGroupStickinessConfig.Enabled") == "true" {
		return nil, refused("TargetGroupStickinessConfig is not supported: load balancers set no cookies.")
	}
	groups, err := in.structures("ForwardConfig.TargetGroups")
	if err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		id, err := idIn(loadbalancer.ResourceGroup, in.text("TargetGroupArn"))
		return []traffic.WeightedGroup{{Group: id, Weight: 1}}, err
	}
	if len(groups) > maxForwardGroups {
		return nil, wire.Errorf("TooManyUniqueTargetGroupsPerLoadBalancer", "An action can forward to %d target groups", maxForwardGroups)
	}
	sum := 0
	for _, one := range groups {
		id, err := idIn(loadbalancer.ResourceGroup, one.text("TargetGroupArn"))
		if err != nil {
			return nil, err
		}
		weight, err := one.number("Weight", 0, maxWeight, 1)
		if err != nil {
			return nil, err
		}
		all, sum = append(all, traffic.WeightedGroup{Group: id, Weight: weight}), sum+weight
	}
	if sum == 0 {
		return nil, invalid("At least one target group of an action needs a weight above 0.")
	}
	return all, nil
}

// redirectIn reads a redirect; what is absent is that of the request.
func redirectIn(in form) (*traffic.Redirect, error) {
	d := &traffic.Redirect{
		Protocol: cmp.Or(in.text("Protocol"), "#{protocol}"), Host: cmp.Or(in.text("Host"), "#{host}"), Port: cmp.Or(in.text("Port"), "#{port}"),
		Path: cmp.Or(in.text("Path"), "/#{path}"), Query: "#{query}",
	}
	if in.Values.Has(in.prefix + "Query") {
		d.Query = in.text("Query")
	}
	switch in.text("StatusCode") {
	case "HTTP_301":
		d.StatusCode = 301
	case "HTTP_302":
		d.StatusCode = 302
	default:
		return nil, invalid("%sStatusCode must be HTTP_301 or HTTP_302.", in.prefix)
	}
	switch {
	case d.Protocol != "HTTP" && d.Protocol != "HTTPS" && d.Protocol != "#{protocol}":
		return nil, invalid("%sProtocol must be HTTP, HTTPS or #{protocol}, not %q.", in.prefix, d.Protocol)
	case d.Path[0] != '/' || len(d.Path) > maxKeyPart || len(d.Host) > maxKeyPart || len(d.Query) > maxKeyPart:
		return nil, invalid("Host, Path and Query of a redirect have up to %d bytes, and Path begins with /.", maxKeyPart)
	case d.Protocol == "#{protocol}" && d.Host == "#{host}" && d.Port == "#{port}" && d.Path == "/#{path}" && d.Query == "#{query}":
		return nil, wire.Errorf("InvalidLoadBalancerAction", "The redirect would lead to the same address again")
	}
	if n, err := strconv.Atoi(d.Port); d.Port != "#{port}" && (err != nil || n < 1 || n > maxPort) {
		return nil, invalid("%sPort must be 1 to %d or #{port}, not %q.", in.prefix, maxPort, d.Port)
	}
	return d, nil
}

const (
	maxKeyPart = 128
	maxBody    = 1024
)

// statusCode is what a fixed response may answer, ELB's.
var statusCode = lazyregexp.New(`^[245]\d\d$`)

// contentTypes of fixed responses, ELB's.
var contentTypes = []string{"text/plain", "text/css", "text/html", "application/javascript", "application/json"}

func fixedResponseIn(in form) (*traffic.FixedResponse, error) {
	code := in.text("StatusCode")
	if !statusCode.MatchString(code) {
		return nil, invalid("%sStatusCode must be 2XX, 4XX or 5XX, not %q.", in.prefix, code)
	}
	f := &traffic.FixedResponse{Body: in.text("MessageBody")}
	f.StatusCode, _ = strconv.Atoi(code)
	if len(f.Body) > maxBody {
		return nil, invalid("%sMessageBody can have %d bytes.", in.prefix, maxBody)
	}
	if in.has("ContentType") {
		kind, err := in.oneOf("ContentType", contentTypes...)
		f.ContentType = kind
		return f, err
	}
	return f, nil
}
