package elb

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"pinion/api/wire"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

func itoa(n int) string { return strconv.Itoa(n) }

const deletionProtection = "deletion_protection.enabled"

// standard are the attributes of an object that were not set.
type standard map[string]string

var (
	ofApplication = standard{
		deletionProtection: "false", "access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "",
		"connection_logs.s3.enabled": "false", "connection_logs.s3.bucket": "", "connection_logs.s3.prefix": "",
		loadbalancer.IdleTimeout: "300", "client_keep_alive.seconds": "3600", "routing.http2.enabled": "true", loadbalancer.XFFClientPort: "false", loadbalancer.XFFMode: "append",
		"routing.http.drop_invalid_header_fields.enabled": "true", "routing.http.preserve_host_header.enabled": "true", "routing.http.desync_mitigation_mode": "strictest",
		"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": "false", "waf.fail_open.enabled": "false", "load_balancing.cross_zone.enabled": "true", "zonal_shift.config.enabled": "false",
	}
	ofNetwork = standard{
		deletionProtection: "false", "access_logs.s3.enabled": "false", "access_logs.s3.bucket": "", "access_logs.s3.prefix": "", "load_balancing.cross_zone.enabled": "true",
		"dns_record.client_routing_policy": "any_availability_zone", "zonal_shift.config.enabled": "false",
	}
	ofGroup = standard{
		loadbalancer.DeregistrationDelay: "300", loadbalancer.Stickiness: "false", "load_balancing.cross_zone.enabled": "use_load_balancer_configuration",
	}
	ofHTTPGroup = standard{
		loadbalancer.SlowStart: "0", loadbalancer.Algorithm: "least_outstanding_requests", "load_balancing.algorithm.anomaly_mitigation": "off", loadbalancer.StickinessType: loadbalancer.AppCookie,
		loadbalancer.StickinessCookie: "", "stickiness.app_cookie.duration_seconds": "86400", "stickiness.lb_cookie.duration_seconds": "86400",
	}
	ofTCPGroup = standard{
		loadbalancer.ProxyProtocol: "false", loadbalancer.StickinessType: loadbalancer.SourceIP, "preserve_client_ip.enabled": "false", "deregistration_delay.connection_termination.enabled": "false",
	}
	ofHTTPListener = standard{"routing.http.response.server.enabled": "false"}
	ofTCPListener  = standard{loadbalancer.TCPIdleTimeout: "3600"}
)

// with are the attributes of an object by their names: those that were set, and the standard ones.
func with(set map[string]string, standards ...standard) (all []attribute) {
	values := map[string]string{}
	for _, s := range standards {
		maps.Copy(values, s)
	}
	maps.Copy(values, set)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all = append(all, attribute{key, values[key]})
	}
	return all
}

type attributesView struct {
	Attributes []attribute `xml:"Attributes>member"`
}

func loadBalancerAttributes(b *loadbalancer.LoadBalancer) attributesView {
	if b.Type == loadbalancer.Network {
		return attributesView{with(b.Attributes, ofNetwork)}
	}
	return attributesView{with(b.Attributes, ofApplication)}
}

func groupAttributes(g *loadbalancer.Group) attributesView {
	if g.Protocol.IsHTTP() {
		return attributesView{with(g.Attributes, ofGroup, ofHTTPGroup)}
	}
	return attributesView{with(g.Attributes, ofGroup, ofTCPGroup)}
}

func listenerAttributes(l *loadbalancer.Listener) attributesView {
	if l.Protocol.IsHTTP() {
		return attributesView{with(l.Attributes, ofHTTPListener)}
	}
	return attributesView{with(l.Attributes, ofTCPListener)}
}

// between are the attributes that are numbers, with their bounds.
var between = map[string][2]int{
	loadbalancer.IdleTimeout: {1, 4000}, loadbalancer.TCPIdleTimeout: {60, 6000}, loadbalancer.DeregistrationDelay: {0, 3600}, loadbalancer.SlowStart: {0, 900},
}

// among are the attributes that have few values. Others that ELB has are things that Pinion does not do.
var among = map[string][]string{
	deletionProtection: {"true", "false"}, loadbalancer.XFFClientPort: {"true", "false"}, loadbalancer.ProxyProtocol: {"true", "false"}, loadbalancer.Stickiness: {"true", "false"},
	loadbalancer.XFFMode:                                       {string(traffic.XFFAppend), string(traffic.XFFPreserve), string(traffic.XFFRemove)},
	loadbalancer.Algorithm:                                     {string(traffic.LeastOutstanding), string(traffic.RoundRobin)},
	"access_logs.s3.enabled":                                   {"false"},
	"connection_logs.s3.enabled":                               {"false"},
	"health_check_logs.s3.enabled":                             {"false"},
	"waf.fail_open.enabled":                                    {"false"},
	"zonal_shift.config.enabled":                               {"false"},
	"preserve_client_ip.enabled":                               {"false"},
	"routing.http2.enabled":                                    {"true"},
	"dns_record.client_routing_policy":                         {"any_availability_zone"},
	"routing.http.desync_mitigation_mode":                      {"strictest", "defensive"},
	"routing.http.x_amzn_tls_version_and_cipher_suite.enabled": {"false"},
	"load_balancing.algorithm.anomaly_mitigation":              {"off"},
}

const (
	maxKey   = 256
	maxValue = 1024
)

// attributesIn reads and checks the attributes that a request sets.
func attributesIn(in form) (map[string]string, error) {
	given, err := in.structures("Attributes")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, a := range given {
		key, value := a.text("Key"), a.text("Value")
		if key == "" || len(key) > maxKey || len(value) > maxValue {
			return nil, invalid("An attribute has a key of 1 to %d bytes and a value of up to %d, not %q.", maxKey, maxValue, key)
		}
		if err := checkAttribute(key, value); err != nil {
			return nil, err
		}
		all[key] = value
	}
	if len(all) == 0 {
		return nil, invalid("Attributes must be given.")
	}
	return all, nil
}

func checkAttribute(key, value string) error {
	if bounds, is := between[key]; is {
		if n, err := strconv.Atoi(value); err != nil || n < bounds[0] || n > bounds[1] {
			return invalid("The attribute %s must be a number from %d to %d, not %q.", key, bounds[0], bounds[1], value)
		}
	}
	if values, is := among[key]; is && !slices.Contains(values, value) {
		return refused("the attribute %s can be %v, not %q: Pinion does not do more.", key, values, value)
	}
	if len(key) > len(headerAttributes) && key[:len(headerAttributes)] == headerAttributes && value != "" && key != "routing.http.response.server.enabled" {
		return refused("the attribute %s is not supported: listeners change no headers.", key)
	}
	return nil
}

// headerAttributes begin the attributes of listeners that change headers.
const headerAttributes = "routing.http.re" // request and response

// checkStickiness refuses kinds of stickiness that Pinion has not.
func checkStickiness(g *loadbalancer.Group, set map[string]string) error {
	after := maps.Clone(g.Attributes)
	if after == nil {
		after = map[string]string{}
	}
	maps.Copy(after, set)
	kind := after[loadbalancer.StickinessType]
	switch {
	case after[loadbalancer.Stickiness] != "true":
		return nil
	case !g.Protocol.IsHTTP() && kind != "" && kind != loadbalancer.SourceIP:
		return refused("%s of a group of %s can be %s, not %q.", loadbalancer.StickinessType, g.Protocol, loadbalancer.SourceIP, kind)
	case g.Protocol.IsHTTP() && kind != loadbalancer.AppCookie:
		return refused("stickiness of the type %q is not supported: load balancers set no cookies. Use app_cookie with a cookie of the application, or the tag %s=source-ip.", kind, loadbalancer.TagAffinity)
	case g.Protocol.IsHTTP() && after[loadbalancer.StickinessCookie] == "":
		return invalid("%s must be given with stickiness of the type app_cookie.", loadbalancer.StickinessCookie)
	}
	return nil
}

func describeLoadBalancerAttributes(_ context.Context, r *Request, in form) (any, error) {
	b, err := r.findLoadBalancer(in)
	if err != nil {
		return nil, err
	}
	return loadBalancerAttributes(b), nil
}

func modifyLoadBalancerAttributes(ctx context.Context, r *Request, in form) (any, error) {
	set, err := attributesIn(in)
	if err != nil {
		return nil, err
	}
	updated, err := r.updateLoadBalancer(ctx, in, loadbalancer.Update{Attributes: set})
	if err != nil {
		return nil, tooManyAttributes(err)
	}
	return loadBalancerAttributes(updated), nil
}

func describeTargetGroupAttributes(_ context.Context, r *Request, in form) (any, error) {
	g, err := r.findGroup(in)
	if err != nil {
		return nil, err
	}
	return groupAttributes(g), nil
}

func modifyTargetGroupAttributes(ctx context.Context, r *Request, in form) (any, error) {
	g, err := r.findGroup(in)
	if err != nil {
		return nil, err
	}
	set, err := attributesIn(in)
	if err != nil {
		return nil, err
	}
	if err := checkStickiness(g, set); err != nil {
		return nil, err
	}
	updated, err := change[*loadbalancer.Group](ctx, r, loadbalancer.UpdateGroup{ID: g.ID, Attributes: set})
	if err != nil {
		return nil, tooManyAttributes(err)
	}
	return groupAttributes(updated), nil
}

func describeListenerAttributes(_ context.Context, r *Request, in form) (any, error) {
	l, err := r.findListener(in)
	if err != nil {
		return nil, err
	}
	return listenerAttributes(l), nil
}

func modifyListenerAttributes(ctx context.Context, r *Request, in form) (any, error) {
	l, err := r.findListener(in)
	if err != nil {
		return nil, err
	}
	set, err := attributesIn(in)
	if err != nil {
		return nil, err
	}
	updated, err := change[*loadbalancer.Listener](ctx, r, loadbalancer.UpdateListener{ID: l.ID, Attributes: set})
	if err != nil {
		return nil, tooManyAttributes(err)
	}
	return listenerAttributes(updated), nil
}

func tooManyAttributes(err error) error { return as(err, spec.ErrLimit, wire.InvalidParameter) }
