package liveness

import (
	"maps"
	"slices"
)

// Bounds of the draining targets that are kept of a host, which root there may make up: the rest is drained when their time is over.
const (
	maxDrained      = 4096
	maxDrainedBytes = 1 << 20 // of their ids; one has some 100
)

// RecordDrained takes the draining targets to which a host has no request in flight. It does not matter how old its word is: a host sends no
// request to a target of which it knows that it is draining, and no target is anything else afterwards.
func (m *Monitor) RecordDrained(hostID string, targets []string) {
	targets, bytes := targets[:min(len(targets), maxDrained)], 0
	for i, target := range targets {
		if bytes += len(target); bytes > maxDrainedBytes {
			targets = targets[:i]
			break
		}
	}
	m.table.setDrained(hostID, targets)
}

// Drained lists the targets to which none of the hosts has a request in flight that are heard of. What a silent host has in flight goes with it.
func (m *Monitor) Drained() []string {
	var everywhere map[string]bool
	for _, host := range m.server.State().View().Hosts("") {
		if host.Lost() || !m.Heard(host.ID) {
			continue
		}
		here := m.table.drainedAt(host.ID)
		if everywhere == nil {
			everywhere = here
		} else {
			maps.DeleteFunc(everywhere, func(target string, _ bool) bool { return !here[target] })
		}
		if len(everywhere) == 0 {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(everywhere))
}

func (t *table) setDrained(host string, targets []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(targets) == 0 {
		delete(t.drained, host)
		return
	}
	if t.drained == nil {
		t.drained = map[string][]string{}
	}
	t.drained[host] = slices.Clone(targets)
}

func (t *table) drainedAt(host string) map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	set := make(map[string]bool, len(t.drained[host]))
	for _, target := range t.drained[host] {
		set[target] = true
	}
	return set
}
