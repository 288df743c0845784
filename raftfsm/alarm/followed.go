package alarm

import (
	"slices"

	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/table"
)

// Followed lists the series of a service that its scaling policies and alarms follow.
func Followed(r table.Reader, s *service.Service) (names []metric.Name) {
	if target := scaling.Find(r, s.ID); target != nil {
		names = target.Sources()
	}
	for _, a := range OfService(r, s.Cluster, s.Name) {
		if source := a.Source(); source != "" && !slices.Contains(names, source) {
			names = append(names, source)
		}
	}
	return names
}
