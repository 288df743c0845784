package raftfsm

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/change"
	"pinion/raftfsm/command"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/taskset"
)

var (
	tableServices = register(noun[service.Service]{
		table: "services", indexes: []*table.Index[service.Service]{servicesByName, servicesByID, servicesGone}, refersTo: []string{"clusters", "definitions"},
		commands: []kind{
			kindOf[CreateService](90, 1), kindOf[UpdateService](91, 1), kindOf[DeleteService](92, 1),
			compactKindOf[StepService](93, 1), kindOf[RollBackService](94, 1), kindOf[ProtectTasks](95, 1),
			kindOf[ContinueService](96, 1),
		},
		changes: change.OfService,
		emits:   []ChangeKind{ServiceChange, ServiceActionChange, DeploymentChange},
		expired: func(v *View, r Reap) iter.Seq[*service.Service] {
			return servicesGone.Until(v, func(s *service.Service) bool { return !s.DeletedAt.Before(r.Before) })
		},
		afterReap: func(tx *tx, gone []*service.Service, _ Reap) {
			for _, s := range gone {
				tx.forgetRollouts(s.ID)
			}
		},
		keepsCluster: func(v *View, cluster string) error {
			for s := range servicesByName.Scan(v, cluster) {
				if s.Status != service.Inactive {
					return service.ErrHasServices
				}
			}
			return nil
		},
		tags: &tagging[service.Service]{
			kind: spec.ResourceService, find: (*View).ServiceByID, tags: func(s *service.Service) *[]spec.Tag { return &s.Tags },
			readOnly: func(s *service.Service) error { return inactiveIf(s.Status == service.Inactive, "service", s.Name) },
			check:    func(_ *service.Service, tags []spec.Tag) error { return service.CheckTags(tags) },
			change:   func(s *service.Service) { s.Version++ },
		},
	})
	servicesByName = table.By(func(s *service.Service) string { return s.Cluster }).Then(func(s *service.Service) string { return s.Name })
	servicesByID   = table.By(serviceID)
	servicesGone   = table.ByNumber(func(s *service.Service) int64 { return sortkey.Time(s.DeletedAt) }).Then(serviceID).
			Where(func(s *service.Service) bool { return s.Status == service.Inactive })

	// The tasks of a service: those that are not STOPPED, then those that it has not noted, then the others.
	tasksByService = table.By(func(t *spec.Task) string { return t.Service.ID }).ThenNumber(notedRank).Then(taskID).
			Where(func(t *spec.Task) bool { return t.Service != nil })
)

func serviceID(s *service.Service) string { return s.ID }

// notedRank is 2 for a task of a service that needs nothing any more.
func notedRank(t *spec.Task) int64 {
	if t.Service.Noted {
		return 2
	}
	return stoppedRank(t)
}

// Service returns nil when the cluster has no service of the name; one that is INACTIVE is there for a while.
func (v *View) Service(cluster, name string) *service.Service {
	return servicesByName.Get(v, sortkey.Key{First: cluster, Second: name})
}

// ServiceByID returns nil when the id is unknown.
func (v *View) ServiceByID(id string) *service.Service {
	return servicesByID.Get(v, sortkey.Key{First: id})
}

// Services lists the services of a cluster by name, INACTIVE ones included; of all clusters when it is empty.
func (v *View) Services(cluster string) []*service.Service {
	return listByCluster(v, cluster, servicesByName, servicesByName)
}

// ServiceTasks lists the tasks of a service that are not STOPPED, by id, and behind them those that are, but whose end the service has not taken into
// account yet.
func (v *View) ServiceTasks(serviceID string) (tasks []*spec.Task) {
	for t := range tasksByService.Seek(v, sortkey.Lowest(serviceID)) { // no command changes them here
		if t.Service.Noted {
			break // the service has noted the rest
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// hasLiveTasks reports whether a task of the service, or of one deployment of it, is not STOPPED.
func hasLiveTasks(v *View, serviceID, deployment string) bool {
	return slices.ContainsFunc(v.ServiceTasks(serviceID), func(t *spec.Task) bool {
		return t.LastStatus != spec.Stopped && (deployment == "" || t.Service.Deployment == deployment)
	})
}

// CreateService records a service with its first deployment, or an EXTERNAL one without any. An INACTIVE one of the name is forgotten. Another one is ErrInUse; ErrNotFound
// and ErrInactive for cluster and definition, service.ErrTooMany, and an error for tags without a meaning. Answer: *service.Service.
type CreateService struct {
	Service  service.Service
	Revision service.Revision // with Rollout; of an EXTERNAL service there are none
	Rollout  service.Rollout
}

func (c CreateService) apply(tx *tx) (any, error) {
	s := c.Service
	known := tx.Service(s.Cluster, s.Name)
	if known != nil && known.Status != service.Inactive || tx.ServiceByID(s.ID) != nil {
		return nil, fmt.Errorf("service %s in cluster %s: %w: there is one of that name", s.Name, s.Cluster, spec.ErrInUse)
	}
	if err := cmp.Or(tx.checkActive(s.Cluster), service.CheckTags(s.Tags)); err != nil {
		return nil, err
	}
	active := slices.DeleteFunc(tx.Services(s.Cluster), func(s *service.Service) bool { return s.Status == service.Inactive })
	if len(active) >= service.MaxServices {
		return nil, fmt.Errorf("cluster %s: %w", s.Cluster, service.ErrTooMany)
	}
	s.Status, s.Deployments, s.Events, s.DeletedAt, s.Conditions, s.Version, s.Names = service.Active, nil, nil, time.Time{}, service.Conditions{}, 1, nil
	if !s.IsExternal() {
		if err := tx.deploy(&s, c.Revision, c.Rollout); err != nil {
			return nil, err
		}
	}
	if known != nil {
		tx.forgetRollouts(known.ID)
	}
	tx.put(tableServices, &s)
	return &s, nil
}

// UpdateService changes an ACTIVE service; what the change leaves out stays. With a revision it begins a new deployment, which stops the
// rollout in progress. ErrNotFound, ErrInactive, also of the new revision's definition; service.ErrChanged, service.ErrExternal. Answer: *service.Service.
type UpdateService struct {
	Cluster, Name string
	Change        service.Change
	At            time.Time
}

func (c UpdateService) apply(tx *tx) (any, error) {
	s, err := command.MutableService(tx, c.Cluster, c.Name)
	if err != nil {
		return nil, err
	}
	if err := s.Update(c.Change); err != nil {
		return nil, fmt.Errorf("service %s in cluster %s: %w", c.Name, c.Cluster, err)
	}
	if c.Change.Revision != nil && c.Change.Rollout != nil {
		tx.stopRollout(s, "Stopped by a newer deployment of the service.", c.At)
		if err := tx.deploy(s, *c.Change.Revision, *c.Change.Rollout); err != nil {
			return nil, err
		}
	}
	tx.put(tableServices, s)
	return s, nil
}

// DeleteService ends a service: it is DRAINING while tasks of it are not STOPPED, which are stopped, and INACTIVE then. One that ends already
// is not changed. ErrNotFound; ErrInactive for one that has ended; without Force service.ErrScaled for a REPLICA whose desired count is
// not 0, and service.ErrHasTaskSets. Answer: *service.Service.
type DeleteService struct {
	Cluster, Name string
	Force         bool
	At            time.Time
}

func (c DeleteService) apply(tx *tx) (any, error) {
	if known := tx.Service(c.Cluster, c.Name); known != nil && known.Status == service.Draining {
		return known, nil
	}
	s, err := command.MutableService(tx, c.Cluster, c.Name)
	if err != nil {
		return nil, err
	}
	if s.Desired > 0 && !c.Force && s.Strategy != service.Daemon {
		return nil, fmt.Errorf("service %s in cluster %s: %w", c.Name, c.Cluster, service.ErrScaled)
	}
	if s.IsExternal() && len(s.Deployments) > 0 && !c.Force {
		return nil, fmt.Errorf("service %s in cluster %s: %w", c.Name, c.Cluster, service.ErrHasTaskSets)
	}
	tx.stopRollout(s, "The service is deleted.", c.At)
	if t := scaling.Find(tx, s.ID); t != nil {
		tx.Remove(t)
	}
	s.Status, s.Desired = service.Draining, 0
	tx.endService(s, c.At)
	tx.put(tableServices, s)
	return s, nil
}

// endService makes a DRAINING service, which is the command's own copy, INACTIVE when it has no tasks. Its task sets are forgotten then.
func (tx *tx) endService(s *service.Service, at time.Time) {
	if s.Status != service.Draining || hasLiveTasks(&tx.View, s.ID, "") {
		return
	}
	s.Status, s.DeletedAt, s.Desired = service.Inactive, at, 0
	if s.IsExternal() {
		before := *s
		s.Deployments = nil
		taskset.Forget(tx, &before, s)
	}
}
