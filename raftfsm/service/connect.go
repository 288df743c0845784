package service

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// Bounds of Service Connect.
const (
	MaxEndpoints = 20     // of a service
	MaxAliases   = 10     // of an endpoint
	MaxNames     = 10_000 // of a pool
	MaxDomain    = 200    // characters of a name or a namespace
)

// Connect is the Service Connect of a revision: the names under which tasks of its namespace reach its tasks.
type Connect struct {
	Namespace     string     `json:"namespace"`           // the domain behind its names: that of the cluster
	NamespaceName string     `json:"given,omitempty"`     // how the user named the namespace: empty, its name or its ARN
	Endpoints     []Endpoint `json:"endpoints,omitempty"` // none: the service has no names of its own

	Alternate bool `json:"alternate,omitempty" level:"1"` // its tasks are in the second group of each name: see SelectGroup
}

// Endpoint is a named port of each task of a revision; ECS calls it a Service Connect service.
type Endpoint struct {
	PortName  string `json:"portName"`
	Container string `json:"container"`          // that has a port mapping of the name
	Port      int    `json:"port"`               // of the container
	Protocol  string `json:"protocol,omitempty"` // the appProtocol of the mapping: http, http2 or grpc; empty is TCP

	Name    string  `json:"name,omitempty"` // the discovery name, as the user gave it; empty: PortName
	Aliases []Alias `json:"aliases,omitempty"`

	IdleSeconds *int `json:"idleSeconds,omitempty"` // how long a connection may be silent; nil: the listener's default

	RequestSeconds int `json:"requestSeconds,omitempty" level:"1"` // in which a request has to be answered in full; 0: it may take as long as it likes
}

// Alias is another name of an endpoint, and the port on which clients connect to it. Without one they connect to the container's.
type Alias struct {
	Name string `json:"name,omitempty"` // as the user gave it: a label, or one with the namespace behind; empty: the discovery name
	Port int    `json:"port"`

	Test *TestHeader `json:"test,omitempty" level:"1"` // nil: it has no test traffic
}

// TestHeader says which requests are test traffic: those with the header.
type TestHeader struct {
	Name  string  `json:"name"`
	Exact *string `json:"exact,omitempty"` // its value; nil: any
}

// Name is a domain name that a service holds, and the number of its virtual address: the same on every host, which adds it to the first address
// of a range of its own.
//
// A name has one holder. A service holds the names of all revisions that it has deployments of, so that a rollback finds them. Each has the
// lowest number that was free, from which every host makes the virtual address. A cluster has one namespace (service.Namespace), and its
// services take no name of another.
type Name struct {
	Name   string `json:"name"`
	Number int    `json:"number"`
}

// Numbers of virtual addresses: 0 is the network's, and 1 where the hosts answer DNS.
const (
	ResolverNumber = 1
	firstNumber    = 2
)

// Address is a name with a port: what clients of an endpoint connect to.
type Address struct {
	Name string
	Port int
}

// Discovery is the discovery name of an endpoint with the namespace behind it. No other endpoint of the pool has it.
func (c *Connect) Discovery(e *Endpoint) string {
	return strings.ToLower(cmp.Or(e.Name, e.PortName)) + "." + c.Namespace
}

// alternateSuffix is behind the discovery name in the id of its second group. No name has such a character.
const alternateSuffix = "+alternate"

// Group is the id of the group of an endpoint's targets.
func (c *Connect) Group(e *Endpoint) string {
	if c.Alternate {
		return c.Discovery(e) + alternateSuffix
	}
	return c.Discovery(e)
}

// SelectGroup returns the Service Connect, as it was asked for, of a revision that takes over the traffic of one with another, which may be nil: its tasks are in
// the other of the two groups of a name while traffic moves, and in the same one otherwise.
func (c *Connect) SelectGroup(before *Connect, shifts bool) *Connect {
	if c == nil {
		return nil
	}
	beside := *c
	beside.Alternate = before != nil && before.Alternate != shifts
	return &beside
}

// AsRequested is the Service Connect as it was asked for, whichever group the tasks of the revision are in.
func (c *Connect) AsRequested() *Connect { return c.SelectGroup(nil, false) }

// Shares reports whether the tasks of another revision, which may be nil, are in the other group of an endpoint.
func (c *Connect) Shares(e *Endpoint, other *Connect) bool {
	return other != nil && other.Alternate != c.Alternate && slices.ContainsFunc(other.Endpoints, func(has Endpoint) bool { return other.Discovery(&has) == c.Discovery(e) })
}

// TestHeader returns the header of test traffic from those that connect to an address of an endpoint; nil: there is none.
func (c *Connect) TestHeader(e *Endpoint, at Address) *TestHeader {
	discovery := c.Discovery(e)
	for _, alias := range e.Aliases {
		if alias.Test != nil && alias.Port == at.Port && (at.Name == discovery || at.Name == c.full(alias.Name, discovery)) {
			return alias.Test
		}
	}
	return nil
}

// Addresses lists the addresses that clients of an endpoint connect to: every port at the discovery name, and at its alias.
func (c *Connect) Addresses(e *Endpoint) (all []Address) {
	discovery := c.Discovery(e)
	if len(e.Aliases) == 0 {
		return []Address{{discovery, e.Port}}
	}
	seen := map[Address]bool{}
	for _, alias := range e.Aliases {
		for _, a := range []Address{{discovery, alias.Port}, {c.full(alias.Name, discovery), alias.Port}} {
			if !seen[a] {
				seen[a] = true
				all = append(all, a)
			}
		}
	}
	return all
}

// full is an alias with the namespace behind it.
func (c *Connect) full(alias, discovery string) string {
	alias = strings.ToLower(alias)
	switch {
	case alias == "":
		return discovery
	case strings.HasSuffix(alias, "."+c.Namespace):
		return alias
	}
	return alias + "." + c.Namespace
}

// Targets are the ports of each task that get the requests of the endpoints.
func (c *Connect) Targets() (all []LoadBalancer) {
	if c == nil {
		return nil
	}
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		all = append(all, LoadBalancer{Group: c.Group(e), Container: e.Container, Port: e.Port})
	}
	return all
}

var (
	label  = lazyregexp.New(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)
	errDNS = errors.New("it consists of labels with dots between: 1 to 63 small letters, digits, hyphens and underscores each")
)

// CheckDomain refuses what is no namespace, which is a domain in small letters.
func CheckDomain(domain string) error {
	if len(domain) > MaxDomain {
		return fmt.Errorf("it has more than %d characters", MaxDomain)
	}
	for one := range strings.SplitSeq(domain, ".") {
		if !label.MatchString(one) {
			return errDNS
		}
	}
	return nil
}

// Check refuses names that are not below the namespace, and addresses that two endpoints have.
func (c *Connect) Check() error {
	if len(c.Endpoints) > MaxEndpoints {
		return fmt.Errorf("%w: a service may have %d names for its ports", spec.ErrLimit, MaxEndpoints)
	}
	groups, taken := map[string]bool{}, map[Address]string{}
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		discovery := c.Discovery(e)
		if groups[discovery] {
			return fmt.Errorf("two of its ports are called %s: give one of them another discoveryName", discovery)
		}
		groups[discovery] = true
		if len(e.Aliases) > MaxAliases {
			return fmt.Errorf("%w: %s may have %d aliases", spec.ErrLimit, discovery, MaxAliases)
		}
		for _, a := range c.Addresses(e) {
			if err := c.checkName(a.Name); err != nil {
				return err
			}
			if other, is := taken[a]; is {
				return fmt.Errorf("%s:%d is that of %s and of %s: give one of them another port or alias", a.Name, a.Port, other, discovery)
			}
			taken[a] = discovery
		}
	}
	return nil
}

// checkName refuses a name that is not one label below the namespace: a service could hide a name of another domain with it.
func (c *Connect) checkName(name string) error {
	first := strings.TrimSuffix(name, "."+c.Namespace)
	if !label.MatchString(first) || len(name) > MaxDomain {
		return fmt.Errorf("%q is no name of the namespace %s: use a label of small letters, digits and hyphens, such as llm, or llm.%s", first, c.Namespace, c.Namespace)
	}
	return nil
}
