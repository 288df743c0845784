package names

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"pinion/raftfsm/traffic"
)

// table holds the names of a Routing with their records. It is not changed.
type table struct {
	domain string // of all names: the namespace of the host's cluster, also when the last one is gone; empty: there was none yet
	names  map[string]*record
}

// record is one name: its virtual address, and the replicas behind it.
type record struct {
	address  netip.Addr
	replicas []backend
}

// backend is a port of a task that is healthy.
type backend struct {
	label string // of a name of its own, below the service's: the task's id
	host  string // address or name of its host
	port  uint16
}

// newTable makes one of the Routing of a host, whose names were in a domain before.
func newTable(r traffic.Routing, n *network, domain string) *table {
	t := &table{domain: domain, names: map[string]*record{}}
	for _, l := range r.Listeners {
		if l.Virtual == nil {
			continue
		}
		address, err := n.address(l.Virtual.Number)
		if err != nil {
			continue // the proxy says so of its listener
		}
		e := t.names[l.Virtual.Name]
		if e == nil {
			e = &record{address: address}
			t.names[l.Virtual.Name] = e
		}
		_, t.domain, _ = strings.Cut(l.Virtual.Name, ".")
		for _, forward := range l.Rules[len(l.Rules)-1].Action.Forward {
			if forward.Weight > 0 {
				e.add(r.Groups, forward.Group)
			}
		}
	}
	return t
}

// add adds the healthy targets of a group, each once.
func (e *record) add(groups []traffic.Group, id string) {
	i := slices.IndexFunc(groups, func(g traffic.Group) bool { return g.ID == id })
	if i < 0 {
		return
	}
	for _, target := range groups[i].Targets {
		host, port, err := net.SplitHostPort(target.Address)
		number, errPort := strconv.ParseUint(port, 10, 16)
		task, is := traffic.ParseTargetID(target.ID)
		if target.State != traffic.Healthy || err != nil || errPort != nil || !is {
			continue
		}
		if r := (backend{label: task.Task, host: host, port: uint16(number)}); !slices.Contains(e.replicas, r) {
			e.replicas = append(e.replicas, r)
		}
	}
}

// find is the record of a name, or that of the service whose replica it names, with that replica.
func (t *table) find(name string) (e *record, of *backend) {
	if e = t.names[name]; e != nil {
		return e, nil
	}
	label, service, _ := strings.Cut(name, ".")
	if e = t.names[service]; e == nil {
		return nil, nil
	}
	for i := range e.replicas {
		if e.replicas[i].label == label {
			return e, &e.replicas[i]
		}
	}
	return nil, nil
}

// has reports whether a name is in the domain, which nobody else answers for.
func (t *table) has(name string) bool {
	return t.domain != "" && (name == t.domain || strings.HasSuffix(name, "."+t.domain))
}
