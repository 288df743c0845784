package loadbalancer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// Attributes that mean something to proxies, ELB's names. All others are kept and have no effect.
const (
	IdleTimeout         = "idle_timeout.timeout_seconds" // of load balancers of HTTP
	XFFMode             = "routing.http.xff_header_processing.mode"
	XFFClientPort       = "routing.http.xff_client_port.enabled"
	TCPIdleTimeout      = "tcp.idle_timeout.seconds" // of listeners of connections
	DeregistrationDelay = "deregistration_delay.timeout_seconds"
	SlowStart           = "slow_start.duration_seconds"
	Algorithm           = "load_balancing.algorithm.type"
	ProxyProtocol       = "proxy_protocol_v2.enabled"
	Stickiness          = "stickiness.enabled"
	StickinessType      = "stickiness.type"
	StickinessCookie    = "stickiness.app_cookie.cookie_name"
)

// Types of stickiness.
const (
	AppCookie = "app_cookie"
	SourceIP  = "source_ip"
)

// Tags of a target group that say what ELB has no attribute for.
const (
	TagAffinity    = "pinion.affinity"      // header:NAME, cookie:NAME, body:BYTES or source-ip
	TagMaxInFlight = "pinion.max-in-flight" // requests in flight at each host
	TagMaxWaiting  = "pinion.max-waiting"   // requests that wait for a healthy target
	TagWaitTimeout = "pinion.wait-timeout"  // how long, such as 90s
)

// DefaultDeregistrationDelay is the time for requests in flight when their target goes, unless the group says otherwise.
const DefaultDeregistrationDelay = 300 * time.Second

// DeregistrationDelay returns the time for requests in flight when their target goes.
func (g *Group) DeregistrationDelay() time.Duration {
	if n, err := strconv.Atoi(g.Attributes[DeregistrationDelay]); err == nil {
		return time.Duration(n) * time.Second
	}
	return DefaultDeregistrationDelay
}

// Tag is the value of a tag, and whether the group has it.
func (g *Group) Tag(key string) (value string, set bool) {
	for _, tag := range g.Tags {
		if tag.Key == key {
			return tag.Value, true
		}
	}
	return "", false
}

var errAffinity = errors.New(`write header:NAME, cookie:NAME, body:BYTES (1 to 65536) or source-ip`)

// ParseAffinity reads TagAffinity.
func ParseAffinity(text string) (*traffic.Affinity, error) {
	by, rest, _ := strings.Cut(text, ":")
	affinity := &traffic.Affinity{By: traffic.AffinityBy(by)}
	switch affinity.By {
	case traffic.ByHeader, traffic.ByCookie:
		if affinity.Name = rest; rest == "" {
			return nil, errAffinity
		}
	case traffic.ByBody:
		length, err := strconv.Atoi(rest)
		if err != nil || length < 1 || length > traffic.MaxAffinityLength {
			return nil, errAffinity
		}
		affinity.Length = length
	case traffic.BySourceIP:
		if rest != "" {
			return nil, errAffinity
		}
	default:
		return nil, errAffinity
	}
	return affinity, nil
}

// CheckTags says which tag of a target group has no meaning, and what it may be.
func CheckTags(tags []spec.Tag) error {
	for _, tag := range tags {
		var err error
		switch tag.Key {
		case TagAffinity:
			_, err = ParseAffinity(tag.Value)
		case TagMaxWaiting:
			if n, wrong := strconv.Atoi(tag.Value); wrong != nil || n < 0 || n > MaxMaxWaiting {
				err = fmt.Errorf("write a number of requests from 0 to %d", MaxMaxWaiting)
			}
		case TagMaxInFlight:
			if n, wrong := strconv.Atoi(tag.Value); wrong != nil || n < 1 || n > MaxMaxInFlight {
				err = fmt.Errorf("write a number of requests from 1 to %d", MaxMaxInFlight)
			}
		case TagWaitTimeout:
			if span, wrong := time.ParseDuration(tag.Value); wrong != nil || span <= 0 || span > MaxWaitTimeout {
				err = errors.New(`write a span of time up to 30m, such as "90s"`)
			}
		}
		if err != nil {
			return fmt.Errorf("the tag %s is %q: %w", tag.Key, tag.Value, err)
		}
	}
	return nil
}

// Bounds of tags.
const (
	MaxMaxInFlight = 1_000_000
	MaxMaxWaiting  = 10_000
	MaxWaitTimeout = 30 * time.Minute
)
