package schedule

// Accepts reports whether one of the hosts would take a task of the request now.
func (f *Fleet) Accepts(r Request, hostIDs []string) bool {
	a := newAsk(r)
	if a.read(f.crew(r.Run.Cluster).hosts) != nil {
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
