package schedule

import "slices"

// AnyFeasible reports whether at least one of the hosts can run a task of the request now.
func (f *HostSet) AnyFeasible(r Request, hostIDs []string) bool {
	return slices.ContainsFunc(alternativesOf(r), func(one Request) bool { return f.anyFeasible(one, hostIDs) })
}

func (f *HostSet) anyFeasible(r Request, hostIDs []string) bool {
	a := newEvaluation(r)
	if a.parse(f.cluster(r.Run.Cluster).hosts) != nil {
		return false
	}
	for _, id := range hostIDs {
		if h := f.hosts[id]; h != nil && h.Host.Cluster == r.Run.Cluster {
			if _, refused := a.refusal(h, runFilters); !refused {
				return true
			}
		}
	}
	return false
}
