package raftfsm

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/alarm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableScalableTargets = register(noun[scaling.Target]{
		table: "scalableTargets", indexes: []*table.Index[scaling.Target]{targetsByService}, refersTo: []string{"services"},
		commands:  []kind{kindOf[ChangeScaling](110, 1)},
		noChanges: "its service tells of what it does", noExpiry: "it goes with its service", noCluster: "its service does",
		tags: &tagging[scaling.Target]{
			kind: spec.ResourceScalableTarget, find: ScalableTarget, tags: func(t *scaling.Target) *[]spec.Tag { return &t.Tags },
		},
	})
	targetsByService = table.By(func(t *scaling.Target) string { return t.ServiceID })
)

// ScalableTarget is the one of a service, nil when it has none.
func ScalableTarget(v *View, serviceID string) *scaling.Target {
	return targetsByService.Get(v, sortkey.Key{First: serviceID})
}

// ScalableTargets lists all of them, by the ids of their services.
func ScalableTargets(v *View) []*scaling.Target { return slices.Collect(targetsByService.All(v)) }

// Followed are the series that policies and alarms follow of a service.
func Followed(v *View, s *service.Service) (names []metric.Name) {
	if target := ScalableTarget(v, s.ID); target != nil {
		names = target.Sources()
	}
	for _, a := range alarm.OfService(v, s.Cluster, s.Name) {
		if source := a.Source(); source != "" && !slices.Contains(names, source) {
			names = append(names, source)
		}
	}
	return names
}

// ChangeScaling changes the scalable target of an ACTIVE service that is no DAEMON, and by it the service's desired count. ErrNotFound and
// ErrInactive of the service; service.ErrDaemon; the errors of package scaling. Answer: *scaling.Target, nil when it was deregistered.
type ChangeScaling struct {
	Cluster, Service string
	Change           scaling.Change
	ID               string // UUID of the event and the activity
	At               time.Time
}

func (c ChangeScaling) apply(tx *tx) (any, error) {
	s, err := tx.mutableService(c.Cluster, c.Service)
	if err != nil {
		return nil, err
	}
	if s.Strategy == service.Daemon {
		return nil, fmt.Errorf("service %s in cluster %s: %w", c.Service, c.Cluster, service.ErrDaemon)
	}
	known := ScalableTarget(&tx.View, s.ID)
	after, err := c.Change.Apply(known, scaling.Target{ServiceID: s.ID, Cluster: s.Cluster, Service: s.Name}, s.Desired, c.ID, c.At)
	switch {
	case err != nil:
		return nil, fmt.Errorf("service %s in cluster %s: %w", c.Service, c.Cluster, err)
	case after == nil:
		tx.remove(tableScalableTargets, known)
		return (*scaling.Target)(nil), nil
	}
	if moved := after.Activity(c.ID); moved != nil {
		s.Desired = moved.To
		s.AddEvents(service.Event{ID: c.ID, At: c.At, Message: fmt.Sprintf("(service %s) has set its desired count to %d: %s.", s.Name, moved.To, moved.Cause)})
		tx.put(tableServices, s)
	}
	tx.put(tableScalableTargets, after)
	return after, nil
}
