package proxy

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"pinion/raftfsm/traffic"
)

// condition reports whether a request meets it.
type condition func(*asked) bool

// asked is a request whose rule is looked for. Its slow parts are read once, whatever the number of rules.
type asked struct {
	*http.Request
	pairs *[]traffic.QueryPair // nil: no rule has looked at them
}

// query is the pairs of the query string, each one once, in small letters.
func (r *asked) query() []traffic.QueryPair {
	if r.pairs == nil {
		all := []traffic.QueryPair{}
		for key, values := range r.URL.Query() {
			for _, value := range values {
				all = append(all, traffic.QueryPair{Key: key, Value: value})
			}
		}
		all = loweredPairs(all)
		slices.SortFunc(all, func(a, b traffic.QueryPair) int {
			return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
		})
		all = slices.Compact(all)
		r.pairs = &all
	}
	return *r.pairs
}

func newCondition(c traffic.Condition) (condition, error) {
	switch c.Field {
	case traffic.HostHeader:
		values := lowered(c.Values)
		return func(r *asked) bool { return matchesAny(values, hostName(r.Host)) }, nil
	case traffic.PathPattern:
		// The path as it was sent, as on ELB: %61 is not a.
		return func(r *asked) bool { return matchesAny(c.Values, r.URL.EscapedPath()) }, nil
	case traffic.HTTPHeader:
		name, values := http.CanonicalHeaderKey(c.Header), lowered(c.Values)
		return func(r *asked) bool {
			return slices.ContainsFunc(r.Header[name], func(v string) bool { return matchesAny(values, strings.ToLower(v)) })
		}, nil
	case traffic.ExactHeader:
		name := http.CanonicalHeaderKey(c.Header)
		return func(r *asked) bool {
			return slices.ContainsFunc(r.Header[name], func(v string) bool { return slices.Contains(c.Values, v) })
		}, nil
	case traffic.RequestMethod:
		return func(r *asked) bool { return slices.Contains(c.Values, r.Method) }, nil
	case traffic.QueryString:
		return queryCondition(c.Query), nil
	case traffic.SourceIP:
		return sourceCondition(c.Values)
	}
	return nil, fmt.Errorf("a condition on %q is not known: use host-header, path-pattern, http-header, http-request-method, query-string or source-ip", c.Field)
}

func queryCondition(pairs []traffic.QueryPair) condition {
	patterns := loweredPairs(pairs)
	return func(r *asked) bool {
		return slices.ContainsFunc(r.query(), func(given traffic.QueryPair) bool {
			return slices.ContainsFunc(patterns, func(p traffic.QueryPair) bool {
				return (p.Key == "" || matches(p.Key, given.Key)) && matches(p.Value, given.Value)
			})
		})
	}
}

func loweredPairs(pairs []traffic.QueryPair) []traffic.QueryPair {
	all := make([]traffic.QueryPair, len(pairs))
	for i, p := range pairs {
		all[i] = traffic.QueryPair{Key: strings.ToLower(p.Key), Value: strings.ToLower(p.Value)}
	}
	return all
}

func sourceCondition(blocks []string) (condition, error) {
	prefixes := make([]netip.Prefix, len(blocks))
	for i, block := range blocks {
		prefix, err := netip.ParsePrefix(block)
		if err != nil {
			return nil, fmt.Errorf("%q is no CIDR block, as 192.0.2.0/24: %w", block, err)
		}
		prefixes[i] = prefix
	}
	return func(r *asked) bool {
		from, err := netip.ParseAddrPort(r.RemoteAddr)
		address := from.Addr().Unmap().WithZone("")
		return err == nil && slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(address) })
	}, nil
}

func matchesAny(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, s) })
}

// matches reports whether s is as pattern says: * is any characters, ? exactly one. It takes len(pattern) x len(s) steps at most.
func matches(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0: // the last * takes one more
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func lowered(values []string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = strings.ToLower(v)
	}
	return all
}

// hostName is the name in a Host header. One that is written with the dot of the root is the same name.
func hostName(host string) string { return strings.ToLower(strings.TrimSuffix(withoutPort(host), ".")) }

// withoutPort is the host of a Host header, or of an address.
func withoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
