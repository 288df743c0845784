package schedule

import (
	"cmp"
	"slices"

	"pinion/raftfsm/spec"
)

// topology is where a host is; empty what nobody said.
type topology struct{ fabric, rack string }

func topologyOf(h *spec.Host) (n topology) {
	n.fabric, _ = h.Attribute(spec.AttributeFabric)
	n.rack, _ = h.Attribute(spec.AttributeRack)
	return n
}

// topologyLevels is what the hosts of a gang should have in common, the most important first.
var topologyLevels = []func(*Host) string{
	func(h *Host) string { return h.topology.fabric },
	func(h *Host) string { return h.topology.rack },
	func(h *Host) string { return h.Host.ID },
}

// hostSlots is a host and how many tasks of a gang it has room for.
type hostSlots struct {
	host  *Host
	tasks int
	cost  cost // decides between equals
}

// packByTopology chooses rooms for so many tasks, or all rooms when they are too few: in as few link domains as possible, in these
// in as few racks, in these on as few hosts. Where one of several does, it is the one with the least room to spare, so that
// bigger gangs find the others whole. Each answer has the number of tasks that it is to take, and neighbours come together.
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

// domain is the rooms that have something in common.
type domain struct {
	name  string // empty: nobody said what they have in common, so nothing
	hosts []hostSlots
	tasks int
}

// domainsOf sorts rooms by what they have in common: the domain with most room first, the one without a name last.
func domainsOf(hosts []hostSlots, common func(*Host) string) []domain {
	var domains []domain
	places, of, sizes := map[string]int{}, make([]int, len(hosts)), []int{}
	for i, r := range hosts {
		name := common(r.host)
		at, known := places[name]
		if !known {
			at = len(domains)
			places[name] = at
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

// bestDomain is the place of the domain to take next: the one with the least room that has enough for all tasks, else the one
// with the most.
func bestDomain(domains []domain, tasks int) int {
	best := 0
	for at, d := range domains {
		if d.tasks < tasks {
			continue
		}
		if d.name == "" && at > 0 && domains[best].tasks >= tasks {
			break // those with a name do
		}
		if d.tasks < domains[best].tasks || domains[best].tasks < tasks {
			best = at
		}
	}
	return best
}
