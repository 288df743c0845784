package elb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// groupView is a target group as clients see it.
type groupView struct {
	TargetGroupArn             string
	TargetGroupName            string
	Protocol                   string
	Port                       int `xml:",omitempty"`
	VpcId                      string
	HealthCheckProtocol        string
	HealthCheckPort            string
	HealthCheckEnabled         bool
	HealthCheckIntervalSeconds int
	HealthCheckTimeoutSeconds  int
	HealthyThresholdCount      int
	UnhealthyThresholdCount    int
	HealthCheckPath            string       `xml:",omitempty"`
	Matcher                    *matcherView `xml:",omitempty"`
	LoadBalancerArns           []string     `xml:"LoadBalancerArns>member"`
	TargetType                 string
	ProtocolVersion            string `xml:",omitempty"`
	IpAddressType              string
}

type matcherView struct {
	HttpCode string `xml:",omitempty"`
	GrpcCode string `xml:",omitempty"`
}

// showGroup shows a target group; users are the ARNs of the load balancers that forward to it.
func (r *Request) showGroup(g *loadbalancer.Group, users []string) groupView {
	v := groupView{
		TargetGroupArn: r.groupARN(g), TargetGroupName: g.Name, Protocol: string(g.Protocol), Port: g.Port, VpcId: g.VPC, TargetType: string(g.TargetType),
		ProtocolVersion: string(g.Version), IpAddressType: "ipv4", LoadBalancerArns: users,
		HealthCheckProtocol: string(g.Health.Protocol), HealthCheckPort: trafficPort, HealthCheckEnabled: !g.Health.Disabled, HealthCheckPath: g.Health.Path,
		HealthCheckIntervalSeconds: int(g.Health.Interval / time.Second), HealthCheckTimeoutSeconds: int(g.Health.Timeout / time.Second),
		HealthyThresholdCount: g.Health.HealthyThreshold, UnhealthyThresholdCount: g.Health.UnhealthyThreshold,
	}
	if g.Health.Port != 0 {
		v.HealthCheckPort = itoa(g.Health.Port)
	}
	if g.Health.Matcher != "" && g.Version == traffic.GRPC {
		v.Matcher = &matcherView{GrpcCode: g.Health.Matcher}
	} else if g.Health.Matcher != "" {
		v.Matcher = &matcherView{HttpCode: g.Health.Matcher}
	}
	return v
}

// trafficPort as the port of a health check is the target's own.
const trafficPort = "traffic-port"

type groupsView struct {
	TargetGroups []groupView `xml:"TargetGroups>member"`
	NextMarker   string      `xml:",omitempty"`
}

func (r *Request) showGroups(all ...*loadbalancer.Group) (v groupsView) {
	users := r.groupUsers()
	for _, g := range all {
		v.TargetGroups = append(v.TargetGroups, r.showGroup(g, users[g.ID]))
	}
	return v
}

// groupUsers are the ARNs of the load balancers that forward to each group.
func (r *Request) groupUsers() map[string][]string {
	users := map[string][]string{}
	for _, b := range loadbalancer.All(r.View) {
		balancer := r.loadBalancerARN(b)
		for _, l := range loadbalancer.Listeners(r.View, b.ID) {
			for _, rule := range loadbalancer.Rules(r.View, l.ID) {
				for _, forward := range rule.Action.Forward {
					if !slices.Contains(users[forward.Group], balancer) {
						users[forward.Group] = append(users[forward.Group], balancer)
					}
				}
			}
		}
	}
	return users
}

func describeTargetGroups(_ context.Context, r *Request, in form) (any, error) {
	found, err := named(in, "TargetGroupArns", "Names", loadbalancer.ResourceGroup,
		func(id string) *loadbalancer.Group { return loadbalancer.FindGroup(r.View, id) },
		func(name string) *loadbalancer.Group { return loadbalancer.GroupNamed(r.View, name) }, loadbalancer.Groups(r.View), func(string) error { return errNoGroup })
	if err != nil {
		return nil, err
	}
	if in.has("LoadBalancerArn") {
		b, err := r.findLoadBalancer(in)
		if err != nil {
			return nil, err
		}
		users, balancer := r.groupUsers(), r.loadBalancerARN(b)
		found = slices.DeleteFunc(found, func(g *loadbalancer.Group) bool { return !slices.Contains(users[g.ID], balancer) })
	}
	some, next, err := page(in, found)
	v := r.showGroups(some...)
	v.NextMarker = next
	return v, err
}

// createTargetGroup is idempotent, as on ELB.
func createTargetGroup(ctx context.Context, r *Request, in form) (any, error) {
	g, err := newGroup(r, in)
	if err != nil {
		return nil, err
	}
	if known := loadbalancer.GroupNamed(r.View, g.Name); known != nil && sameGroup(*known, *g) {
		return r.showGroups(known), nil
	}
	_, err = r.Store.Propose(ctx, raftfsm.Wrap(loadbalancer.CreateGroup{Group: *g}))
	if errors.Is(err, loadbalancer.ErrNameTaken) {
		return nil, wire.Errorf("DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", g.Name)
	}
	if err = as(err, spec.ErrLimit, "TooManyTargetGroups"); err != nil {
		return nil, refusalOf(err)
	}
	return r.showGroups(g), nil
}

// sameGroup reports whether two groups were asked for in the same way.
func sameGroup(a, b loadbalancer.Group) bool {
	return a.Protocol == b.Protocol && a.Version == b.Version && a.Port == b.Port && a.VPC == b.VPC && a.TargetType == b.TargetType && a.Health == b.Health && slices.Equal(a.Tags, b.Tags)
}

func newGroup(r *Request, in form) (g *loadbalancer.Group, err error) {
	g = &loadbalancer.Group{ID: newID(), CreatedAt: r.Now(), CreatedBy: r.Principal.ARN, VPC: in.text("VpcId")}
	if g.Name, err = nameIn(in); err != nil {
		return nil, err
	}
	switch kind := loadbalancer.TargetType(cmp.Or(in.text("TargetType"), string(loadbalancer.Instance))); kind {
	case loadbalancer.Instance, loadbalancer.IP:
		g.TargetType = kind
	default:
		return nil, refused("targets of the type %s are not supported: use instance or ip; tasks of services are both.", kind)
	}
	switch protocol := in.text("Protocol"); protocol {
	case string(traffic.HTTP), string(traffic.TCP):
		g.Protocol = traffic.Protocol(protocol)
	case "":
		return nil, invalid("Protocol must be given: HTTP or TCP.")
	default:
		return nil, refused("target groups of %s are not supported: use HTTP or TCP. Targets are reached in plain, and there is no UDP.", protocol)
	}
	if g.Protocol.IsHTTP() {
		version, err := in.oneOf("ProtocolVersion", string(traffic.HTTP1), string(traffic.HTTP2), string(traffic.GRPC))
		if err != nil {
			return nil, err
		}
		g.Version = traffic.Version(version)
	}
	if g.Port, err = in.number("Port", 1, maxPort, 0); err != nil {
		return nil, err
	}
	if _, err := in.oneOf("IpAddressType", "ipv4", "ipv6"); err != nil {
		return nil, err
	}
	if g.Tags, err = tagsIn(in); err != nil {
		return nil, err
	}
	if err := loadbalancer.CheckTags(g.Tags); err != nil {
		return nil, invalid("%v.", err)
	}
	g.Health, err = healthIn(in, g, standardHealth(g))
	return g, err
}

const maxPort = 65535

func modifyTargetGroup(ctx context.Context, r *Request, in form) (any, error) {
	g, err := r.findGroup(in)
	if err != nil {
		return nil, err
	}
	health, err := healthIn(in, g, g.Health)
	if err != nil {
		return nil, err
	}
	updated, err := change[*loadbalancer.Group](ctx, r, loadbalancer.UpdateGroup{ID: g.ID, Health: &health})
	if err != nil {
		return nil, err
	}
	return r.showGroups(updated), nil
}

func deleteTargetGroup(ctx context.Context, r *Request, in form) (any, error) {
	g, err := r.findGroup(in)
	if errors.Is(err, errNoGroup) {
		return empty{}, nil // as on ELB
	}
	if err != nil {
		return nil, err
	}
	_, err = change[any](ctx, r, loadbalancer.Delete{Group: g.ID})
	return empty{}, err
}

// standardHealth is the health check of a group for which nothing else was said, ELB's.
func standardHealth(g *loadbalancer.Group) traffic.HealthCheck {
	h := traffic.HealthCheck{Protocol: g.Protocol, Interval: 30 * time.Second, Timeout: 5 * time.Second, HealthyThreshold: 5, UnhealthyThreshold: 2}
	switch {
	case g.Version == traffic.GRPC:
		h.Path, h.Matcher = "/AWS.ALB/healthcheck", "12"
	case g.Protocol.IsHTTP():
		h.Path, h.Matcher = "/", "200"
	default:
		h.Timeout = 10 * time.Second
	}
	return h
}

// matcher is codes and spans of codes: 200, 200,202 or 200-299.
var matcher = lazyregexp.New(`^\d{1,3}(-\d{1,3})?(,\d{1,3}(-\d{1,3})?)*$`)

// healthIn reads the health check of a group; what is absent stays.
func healthIn(in form, g *loadbalancer.Group, h traffic.HealthCheck) (traffic.HealthCheck, error) {
	if text := in.text("HealthCheckEnabled"); text != "" {
		h.Disabled = text == "false"
	}
	if protocol := in.text("HealthCheckProtocol"); protocol != "" && traffic.Protocol(protocol) != h.Protocol {
		switch traffic.Protocol(protocol) {
		case traffic.HTTP:
			h.Protocol, h.Path, h.Matcher = traffic.HTTP, "/", "200-399"
		case traffic.TCP:
			h.Protocol, h.Path, h.Matcher = traffic.TCP, "", ""
		default:
			return h, refused("health checks by %s are not supported: use HTTP or TCP.", protocol)
		}
	}
	if port := in.text("HealthCheckPort"); port == trafficPort {
		h.Port = 0
	} else if n, err := in.number("HealthCheckPort", 1, maxPort, h.Port); err != nil {
		return h, err
	} else {
		h.Port = n
	}
	if path := in.text("HealthCheckPath"); path != "" && h.Protocol.IsHTTP() {
		if h.Path = path; path[0] != '/' || len(path) > maxValue {
			return h, invalid("HealthCheckPath must begin with / and have up to %d bytes, not %q.", maxValue, path)
		}
	}
	if codes := cmp.Or(in.text("Matcher.HttpCode"), in.text("Matcher.GrpcCode")); codes != "" && h.Protocol.IsHTTP() {
		if h.Matcher = codes; !matcher.MatchString(codes) || len(codes) > maxKey {
			return h, invalid("Matcher must be codes, such as 200,202 or 200-299, not %q.", codes)
		}
	}
	return h, healthNumbers(in, &h)
}

func healthNumbers(in form, h *traffic.HealthCheck) error {
	seconds := func(name string, most int, to *time.Duration) error {
		n, err := in.number(name, 1, most, int(*to/time.Second))
		*to = time.Duration(n) * time.Second
		return err
	}
	count := func(name string, to *int) error {
		n, err := in.number(name, 1, 10, *to)
		*to = n
		return err
	}
	err := cmp.Or(seconds("HealthCheckIntervalSeconds", 300, &h.Interval), seconds("HealthCheckTimeoutSeconds", 120, &h.Timeout),
		count("HealthyThresholdCount", &h.HealthyThreshold), count("UnhealthyThresholdCount", &h.UnhealthyThreshold))
	if err == nil && h.Timeout > h.Interval {
		err = invalid("Health check timeout '%v' must be smaller than the interval '%v'", h.Timeout, h.Interval)
	}
	return err
}
