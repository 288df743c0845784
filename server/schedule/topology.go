package schedule

import (
	"cmp"
	"slices"

	"pinion/raftfsm/spec"
)

// topology is a host's link domain and rack; empty when not set.
type topology struct{ fabric, rack string }

func topologyOf(h *spec.Host) (n topology) {
	n.fabric, _ = h.Attribute(spec.AttributeFabric)
	n.rack, _ = h.Attribute(spec.AttributeRack)
	return n
}

// topologyLevels are the properties that the hosts of a gang should share, the most important first.
var topologyLevels = []func(*Host) string{
	func(h *Host) string { return h.location.fabric },
	func(h *Host) string { return h.location.rack },
	func(h *Host) string { return h.Host.ID },
}

// hostSlots is a host with the number of gang tasks that fit on it.
type hostSlots struct {
	host  *Host
	tasks int
	cost  cost // decides between equals
}

// packByTopology chooses hosts for a number of tasks in as few link domains as possible, within these in as few racks, and
// within these on as few hosts; it returns all hosts when they have too few slots. When several domains suffice it takes the
// one with the fewest spare slots, so that larger gangs find the others whole. Each returned entry has the number of tasks
// to place there, and hosts of one domain are adjacent.
func packByTopology(hosts []hostSlots, tasks int, levels []func(*Host) string) []hostSlots {
	if len(levels) == 0 {
		only := hosts[0]
		only.tasks = min(only.tasks, tasks)
		return []hostSlots{only}
	}
	var chosen []hostSlots
	domains := domainsOf(hosts, levels[0])
	for tasks > 0 && len(domains) > 0 {
		at := bestDomain(domains, tasks)
		share := min(domains[at].tasks, tasks)
		chosen = append(chosen, packByTopology(domains[at].hosts, share, levels[1:])...)
		domains = slices.Delete(domains, at, at+1)
		tasks -= share
	}
	return chosen
}

// domain is a group of hosts with the same value at one topology level.
type domain struct {
	name  string // empty: the hosts have no value at this level, so they share nothing
	hosts []hostSlots
	tasks int
}

// domainsOf groups hosts by their value at one level: the domain with the most slots first, the unnamed one last.
func domainsOf(hosts []hostSlots, common func(*Host) string) []domain {
	var domains []domain
	indexes, of, sizes := map[string]int{}, make([]int, len(hosts)), []int{}
	for i, r := range hosts {
		name := common(r.host)
		at, known := indexes[name]
		if !known {
			at = len(domains)
			indexes[name] = at
			domains, sizes = append(domains, domain{name: name}), append(sizes, 0)
		}
		of[i] = at
		sizes[at]++
	}
	for i, r := range hosts {
		d := &domains[of[i]]
		if d.hosts == nil {
			d.hosts = make([]hostSlots, 0, sizes[of[i]])
		}
		d.hosts, d.tasks = append(d.hosts, r), d.tasks+r.tasks
	}
	slices.SortStableFunc(domains, func(a, b domain) int {
		if (a.name == "") != (b.name == "") {
			return cmp.Compare(len(b.name), len(a.name))
		}
		return cmp.Or(cmp.Compare(b.tasks, a.tasks), a.hosts[0].cost.compare(b.hosts[0].cost), cmp.Compare(a.name, b.name))
	})
	return domains
}

// bestDomain returns the index of the domain to use next: the smallest one with enough slots for all tasks, else the largest.
func bestDomain(domains []domain, tasks int) int {
	best := 0
	for at, d := range domains {
		if d.tasks < tasks {
			continue
		}
		if d.name == "" && at > 0 && domains[best].tasks >= tasks {
			break // a named domain suffices
		}
		if d.tasks < domains[best].tasks || domains[best].tasks < tasks {
			best = at
		}
	}
	return best
}
