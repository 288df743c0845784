package schedule

import (
	"math"
	"strings"

	"pinion/raftfsm/spec"
)

// scorer is one placement strategy: the host with the lowest score is the best for the next task.
type scorer interface {
	score(h *Host) int64
	took(h *Host) // a task was placed there
}

// lowest keeps the candidates with the lowest score.
func lowest(choices []*rankedHost, s scorer) []*rankedHost {
	var kept []*rankedHost
	best := int64(math.MaxInt64)
	for _, o := range choices {
		score := s.score(o.host)
		if score < best {
			best, kept = score, nil
		}
		if score == best {
			kept = append(kept, o)
		}
	}
	return kept
}

// scorer returns the scorer of a placement strategy; nil for an unknown strategy.
func (a *evaluation) scorer(s spec.PlacementStrategy, hosts []*Host) scorer {
	switch s.Type {
	case "random":
		return &random{seed: a.Seed}
	case "binpack":
		if left, known := freeOf[s.Field]; known {
			return binpack{left}
		}
	case "spread":
		name, isAttribute := strings.CutPrefix(s.Field, "attribute:")
		if isAttribute {
			return newSpread(hosts, a.group, func(h *Host) string {
				value, _ := h.Host.Attribute(name) // hosts without the attribute form one more domain
				return value
			})
		}
		if s.Field == "instanceId" {
			return newSpread(hosts, a.group, func(h *Host) string { return h.Host.ID })
		}
	}
	return nil
}

// freeOf returns a host's free amount of a resource.
var freeOf = map[string]func(*Host) int64{
	"cpu":    func(h *Host) int64 { return h.Free.CPU },
	"memory": func(h *Host) int64 { return h.Free.MemoryMiB },
	"gpu":    func(h *Host) int64 { return int64(len(h.Free.GPUs)) },
}

// binpack prefers the host with the least free amount of its resource.
type binpack struct{ free func(*Host) int64 }

func (b binpack) score(h *Host) int64 { return b.free(h) }
func (binpack) took(*Host)            {}

// spread balances the tasks of a group over domains: hosts, or values of an attribute.
type spread struct {
	domain func(*Host) string
	tasks  map[string]int64 // of the group, by domain
}

func newSpread(hosts []*Host, group string, domainOf func(*Host) string) *spread {
	s := &spread{domain: domainOf, tasks: map[string]int64{}}
	for _, h := range hosts {
		s.tasks[domainOf(h)] += int64(h.count(group))
	}
	return s
}

func (s *spread) score(h *Host) int64 { return s.tasks[s.domain(h)] }
func (s *spread) took(h *Host)        { s.tasks[s.domain(h)]++ }

// random scores each host with a pseudo-random number for each task. The same seed gives the same numbers.
type random struct{ seed, tasks uint64 }

func (r *random) score(h *Host) int64 {
	x := splitmix64(r.seed ^ splitmix64(r.tasks))
	for i := range len(h.Host.ID) {
		x = splitmix64(x ^ uint64(h.Host.ID[i]))
	}
	return int64(x >> 1)
}

func (r *random) took(*Host) { r.tasks++ }

// splitmix64 is one step of the splitmix64 generator: each bit of x changes half of the output bits on average.
func splitmix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
