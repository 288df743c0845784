// Package hostport computes with the ports of a host that are taken, of one protocol.
package hostport

import (
	"maps"
	"slices"
)

// Set is the ports that are taken; nil when none is. Copies share it, so a method that changes one says so.
type Set map[int]bool

// Add takes the ports in place. Only an owner of s that no copy shares may call it.
func (s *Set) Add(ports []int) {
	if len(ports) > 0 && *s == nil {
		*s = make(Set, len(ports))
	}
	for _, port := range ports {
		(*s)[port] = true
	}
}

// Clone returns a copy to which those ports can be added, or s itself when there are none.
func (s Set) Clone(ports []int) Set {
	if len(ports) == 0 {
		return s
	}
	return maps.Clone(s)
}

// With returns s and the ports.
func (s Set) With(ports []int) Set {
	s = s.Clone(ports)
	s.Add(ports)
	return s
}

// Without returns s without the ports.
func (s Set) Without(ports []int) Set {
	s = s.Clone(ports)
	for _, port := range ports {
		delete(s, port)
	}
	return s
}

// Conflict finds a wanted port that is taken, or wanted twice.
func (s Set) Conflict(wanted []int) (port int, conflict bool) {
	for i, port := range wanted {
		if s[port] || slices.Contains(wanted[:i], port) {
			return port, true
		}
	}
	return 0, false
}

// Free lists those of the ports that are not taken.
func (s Set) Free(ports []int) (free []int) {
	for _, port := range ports {
		if !s[port] {
			free = append(free, port)
		}
	}
	return free
}
