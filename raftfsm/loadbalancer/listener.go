package loadbalancer

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/traffic"
)

// Listener is a port on which every host of the pool accepts the traffic of a load balancer.
type Listener struct {
	ID           string            `json:"id"` // 16 hex digits
	LoadBalancer string            `json:"loadBalancer"`
	Port         int               `json:"port"`
	Protocol     traffic.Protocol  `json:"protocol"`
	Certificates []Certificate     `json:"certificates,omitempty"` // the default one first
	Policy       string            `json:"policy,omitempty"`       // ELB's SslPolicy, kept and without effect
	Attributes   map[string]string `json:"attributes,omitempty"`
	Tags         []spec.Tag        `json:"tags,omitempty"`
	CreatedAt    time.Time         `json:"createdAt"`
}

// Certificate is a certificate that each host has as a file.
type Certificate struct {
	ARN  string `json:"arn"`  // as the user wrote it
	Name string `json:"name"` // of the files: NAME.crt and NAME.key
}

// Indexes of listeners.
var (
	ListenersByID   = table.By(func(l *Listener) string { return l.ID })
	ListenersByPort = table.ByNumber(func(l *Listener) int64 { return int64(l.Port) })
	ListenersOf     = table.By(func(l *Listener) string { return l.LoadBalancer }).ThenNumber(func(l *Listener) int64 { return int64(l.Port) })
)

// FindListener returns nil when the id is unknown.
func FindListener(r table.Reader, id string) *Listener {
	return ListenersByID.Get(r, sortkey.Key{First: id})
}

// Listeners lists the listeners of a load balancer by port.
func Listeners(r table.Reader, loadBalancer string) []*Listener {
	return ListenersOf.List(r, loadBalancer)
}

// AllListeners lists the listeners of the pool by port.
func AllListeners(r table.Reader) []*Listener { return slices.Collect(ListenersByPort.All(r)) }

// Ports are the ports of all listeners, in order: no task has one of them.
func Ports(r table.Reader) (ports []int) {
	for l := range ListenersByPort.All(r) {
		ports = append(ports, l.Port)
	}
	return ports
}

// CreateListener records a listener with its default rule. spec.ErrNotFound for its load balancer, ErrNoGroup, ErrMisfit for protocols that do
// not fit together, ErrPortTaken, ErrPortOfHost, spec.ErrLimit. Answer: *Listener.
type CreateListener struct {
	Listener Listener
	Default  Rule
}

// Apply carries the command out.
func (c CreateListener) Apply(tx command.Transaction) (any, error) {
	l := &c.Listener
	b := Find(tx, l.LoadBalancer)
	switch {
	case b == nil:
		return nil, fmt.Errorf("load balancer %s: %w", l.LoadBalancer, spec.ErrNotFound)
	case FindListener(tx, l.ID) != nil || FindRule(tx, c.Default.ID) != nil:
		return nil, fmt.Errorf("listener %s: %w", l.ID, spec.ErrInUse)
	case len(Listeners(tx, b.ID)) >= MaxListeners:
		return nil, fmt.Errorf("load balancer %s: %w: it may have %d listeners", b.Name, spec.ErrLimit, MaxListeners)
	}
	if err := checkPort(tx, l); err != nil {
		return nil, err
	}
	c.Default.Listener, c.Default.Priority, c.Default.Conditions = l.ID, 0, nil
	if err := checkListener(tx, b, l, &c.Default); err != nil {
		return nil, err
	}
	tx.Put(l)
	tx.Put(&c.Default)
	return l, nil
}

// UpdateListener changes what it gives of a listener. Errors are those of CreateListener. Answer: *Listener.
type UpdateListener struct {
	ID           string
	Port         int // 0: as it is
	Protocol     traffic.Protocol
	Certificates []Certificate // nil: as they are; not nil: instead of them
	Policy       string
	Attributes   map[string]string // beside those that it has
	Default      *traffic.Action
}

// Apply carries the command out.
func (c UpdateListener) Apply(tx command.Transaction) (any, error) {
	known := FindListener(tx, c.ID)
	if known == nil {
		return nil, fmt.Errorf("listener %s: %w", c.ID, spec.ErrNotFound)
	}
	changed, err := *known, error(nil)
	if c.Port != 0 {
		changed.Port = c.Port
	}
	if c.Protocol != "" {
		changed.Protocol = c.Protocol
	}
	if c.Certificates != nil {
		changed.Certificates = c.Certificates
	}
	if c.Policy != "" {
		changed.Policy = c.Policy
	}
	if changed.Attributes, err = merge(known.Attributes, c.Attributes); err != nil {
		return nil, err
	}
	if changed.Port != known.Port {
		if err := checkPort(tx, &changed); err != nil {
			return nil, err
		}
	}
	rules := Rules(tx, known.ID)
	standard := *rules[len(rules)-1]
	if c.Default != nil {
		standard.Action = *c.Default
	}
	if err := checkListener(tx, Find(tx, known.LoadBalancer), &changed, &standard); err != nil {
		return nil, err
	}
	if !changed.Protocol.EndsTLS() {
		changed.Certificates, changed.Policy = nil, ""
	}
	tx.Put(&changed)
	tx.Put(&standard)
	return &changed, nil
}

// checkPort refuses a port that another listener has, or that something else has on a host.
func checkPort(tx command.Transaction, l *Listener) error {
	if other := ListenersByPort.Get(tx, sortkey.Key{Number: int64(l.Port)}); other != nil {
		name := other.LoadBalancer
		if b := Find(tx, name); b != nil {
			name = b.Name
		}
		return fmt.Errorf("port %d is that of a listener of load balancer %s: %w", l.Port, name, ErrPortTaken)
	}
	if holder := portUser(tx, l.Port); holder != "" {
		return fmt.Errorf("port %d is that of %s: %w", l.Port, holder, ErrPortOfHost)
	}
	return nil
}

// checkListener refuses protocols that do not fit together, and a default rule that cannot be.
func checkListener(tx command.Transaction, b *LoadBalancer, l *Listener, standard *Rule) error {
	switch {
	case !b.Accepts(l.Protocol):
		return fmt.Errorf("a listener of %s: %w a load balancer of the type %s", l.Protocol, ErrMisfit, b.Type)
	case l.Protocol.EndsTLS() && len(l.Certificates) == 0:
		return fmt.Errorf("a listener of %s without a certificate: it %w", l.Protocol, ErrMisfit)
	}
	return checkAction(tx, l.Protocol, &standard.Action)
}
