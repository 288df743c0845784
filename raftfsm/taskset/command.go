package taskset

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Create records a task set, with its revision, as an ACTIVE deployment of an ACTIVE service. spec.ErrNotFound and spec.ErrInactive of the service
// and of the definition; service.ErrNotExternal, ErrTooMany, ErrClientToken; spec.ErrInUse for an id that is used. Answer: *service.Service.
type Create struct {
	Set      Set
	Revision service.Revision // Cluster and Service of it and of Set name the service
	At       time.Time
}

// Apply carries the command out.
func (c Create) Apply(tx command.Transaction) (any, error) {
	set, revision := c.Set, c.Revision
	s, err := mutable(tx, set.Cluster, set.Service)
	if err != nil {
		return nil, err
	}
	if err := c.check(tx, s); err != nil {
		return nil, fmt.Errorf("service %s in cluster %s: %w", s.Name, s.Cluster, err)
	}
	set.ServiceID, revision.ID, revision.ServiceID, revision.Cluster, revision.Service = s.ID, set.ID, s.ID, s.Cluster, s.Name
	s.Deployments = append([]service.Deployment{{
		ID: set.ID, Definition: revision.Definition, Status: service.Replaced, State: service.InProgress, CreatedAt: c.At, UpdatedAt: c.At,
	}}, s.Deployments...)
	tx.Put(&revision)
	tx.Put(&set)
	tx.Put(s)
	return s, nil
}

func (c Create) check(tx command.Transaction, s *service.Service) error {
	for i := range s.Deployments {
		if other := Find(tx, s.Deployments[i].ID); other != nil && c.Set.Token != "" && other.Token == c.Set.Token {
			return fmt.Errorf("%w: %s", ErrClientToken, other.ID)
		}
	}
	switch definition := tx.Definition(c.Revision.Definition); {
	case len(s.Deployments) >= service.MaxTaskSets:
		return ErrTooMany
	case definition == nil || definition.Name() != c.Revision.Definition:
		return fmt.Errorf("task definition %q: %w", c.Revision.Definition, spec.ErrNotFound)
	case definition.Status != spec.DefinitionActive:
		return fmt.Errorf("task definition %q: %w", c.Revision.Definition, spec.ErrInactive)
	case c.Set.ID == "" || tx.ServiceRevision(c.Set.ID) != nil || Find(tx, c.Set.ID) != nil:
		return fmt.Errorf("task set %q: %w", c.Set.ID, spec.ErrInUse)
	}
	return nil
}

// Scale sets the part of the desired count that a task set has. spec.ErrNotFound and spec.ErrInactive of the service; service.ErrNotExternal,
// ErrUnknown, ErrDraining. Answer: *service.Service.
type Scale struct {
	Cluster, Service string
	ID               string
	Scale            scaling.Number
	At               time.Time
}

// Apply carries the command out.
func (c Scale) Apply(tx command.Transaction) (any, error) {
	s, d, err := deployed(tx, c.Cluster, c.Service, c.ID)
	switch {
	case err != nil:
		return nil, err
	case d.Status == service.DrainingSet:
		return nil, fmt.Errorf("task set %s: %w", c.ID, ErrDraining)
	}
	set := *Find(tx, c.ID)
	set.Scale, d.UpdatedAt = c.Scale, c.At
	tx.Put(&set)
	tx.Put(s)
	return s, nil
}

// Delete ends a task set: it is DRAINING while it has tasks, which are stopped, and gone then. One that ends already is not changed. Without Force,
// ErrPrimary and, for one with a part of the desired count, ErrScaled; spec.ErrNotFound and spec.ErrInactive of the service; service.ErrNotExternal,
// ErrUnknown. Answer: *service.Service.
type Delete struct {
	Cluster, Service string
	ID               string
	Force            bool
	At               time.Time
}

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	s, d, err := deployed(tx, c.Cluster, c.Service, c.ID)
	switch {
	case err != nil:
		return nil, err
	case d.Status == service.DrainingSet:
		return tx.Service(c.Cluster, c.Service), nil
	case !c.Force && d.Status == service.Primary:
		return nil, fmt.Errorf("task set %s: %w", c.ID, ErrPrimary)
	case !c.Force && Find(tx, c.ID).Desired(s, d) > 0:
		return nil, fmt.Errorf("task set %s: %w", c.ID, ErrScaled)
	}
	d.Status, d.State, d.UpdatedAt = service.DrainingSet, service.InProgress, c.At
	tx.Put(s)
	return s, nil
}

// MakePrimary makes a task set the PRIMARY one of its service; the one before is ACTIVE then. No task starts or stops for it. spec.ErrNotFound and
// spec.ErrInactive of the service; service.ErrNotExternal, ErrUnknown, ErrDraining. Answer: *service.Service.
type MakePrimary struct {
	Cluster, Service string
	ID               string
	At               time.Time
}

// Apply carries the command out.
func (c MakePrimary) Apply(tx command.Transaction) (any, error) {
	s, d, err := deployed(tx, c.Cluster, c.Service, c.ID)
	switch {
	case err != nil:
		return nil, err
	case d.Status == service.DrainingSet:
		return nil, fmt.Errorf("task set %s: %w", c.ID, ErrDraining)
	case d.Status == service.Primary:
		return tx.Service(c.Cluster, c.Service), nil
	}
	if before := s.Primary(); before.ID != "" {
		before.Status, before.UpdatedAt = service.Replaced, c.At
	}
	d.Status, d.UpdatedAt = service.Primary, c.At
	tx.Put(s)
	return s, nil
}

// Forget removes the task sets that a service had before a change, and has not after it.
func Forget(tx command.Transaction, before, after *service.Service) {
	for i := range before.Deployments {
		id := before.Deployments[i].ID
		set := Find(tx, id)
		if set == nil || after.Deployment(id) != nil {
			continue
		}
		tx.Remove(set)
		if revision := tx.ServiceRevision(id); revision != nil {
			tx.Remove(revision)
		}
	}
}

// deployed is a copy of a service, as mutable makes it, and the deployment in it that is the task set.
func deployed(tx command.Transaction, cluster, name, id string) (*service.Service, *service.Deployment, error) {
	s, err := mutable(tx, cluster, name)
	if err != nil {
		return nil, nil, err
	}
	d := s.Deployment(id)
	if d == nil || Find(tx, id) == nil {
		return nil, nil, fmt.Errorf("task set %s of service %s: %w", id, name, ErrUnknown)
	}
	return s, d, nil
}

// mutable is a copy of an ACTIVE service with task sets, with the next version and deployments of its own.
func mutable(tx command.Transaction, cluster, name string) (*service.Service, error) {
	s, err := command.MutableService(tx, cluster, name)
	if err != nil {
		return nil, err
	}
	if !s.IsExternal() {
		return nil, fmt.Errorf("service %s in cluster %s: %w", name, cluster, service.ErrNotExternal)
	}
	s.Deployments = slices.Clone(s.Deployments)
	return s, nil
}
