package scaling

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/service"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/table"
)

// ByService has every scalable target.
var ByService = table.By(func(t *Target) string { return t.ServiceID })

// Find returns the scalable target of a service, nil when it has none.
func Find(r table.Reader, serviceID string) *Target {
	return ByService.Get(r, sortkey.Key{First: serviceID})
}

// All lists the scalable targets by the ids of their services.
func All(r table.Reader) []*Target { return slices.Collect(ByService.All(r)) }

// ChangeTarget changes the scalable target of an ACTIVE service that is no DAEMON, and by it the service's desired count. spec.ErrNotFound and
// spec.ErrInactive of the service; service.ErrDaemon; the errors of Change.Apply. Answer: *Target, nil when it was deregistered.
type ChangeTarget struct {
	Cluster, Service string
	Change           Change
	ID               string // UUID of the event and the activity
	At               time.Time
}

// Apply carries the command out.
func (c ChangeTarget) Apply(tx command.Transaction) (any, error) {
	s, err := command.MutableService(tx, c.Cluster, c.Service)
	if err != nil {
		return nil, err
	}
	if s.Strategy == service.Daemon {
		return nil, fmt.Errorf("service %s in cluster %s: %w", c.Service, c.Cluster, service.ErrDaemon)
	}
	known := Find(tx, s.ID)
	after, err := c.Change.Apply(known, Target{ServiceID: s.ID, Cluster: s.Cluster, Service: s.Name}, s.Desired, c.ID, c.At)
	switch {
	case err != nil:
		return nil, fmt.Errorf("service %s in cluster %s: %w", c.Service, c.Cluster, err)
	case after == nil:
		tx.Remove(known)
		return (*Target)(nil), nil
	}
	if moved := after.Activity(c.ID); moved != nil && moved.Failed == "" {
		s.Desired = moved.To
		s.AddEvents(service.Event{ID: c.ID, At: c.At, Message: fmt.Sprintf("(service %s) has set its desired count to %d: %s.", s.Name, moved.To, moved.Cause)})
		tx.Put(s)
	}
	tx.Put(after)
	return after, nil
}
