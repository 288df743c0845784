package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// StepService takes a service one step to what it is to be: all of it, or nothing. It does nothing when the service has another version,
// because the step was computed for another state of it, or when tasks cannot start. Answer: ServiceStep.
type StepService struct {
	ServiceID string
	Version   int64             // of the service that the step is for
	Starts    []*spec.Task      // PROVISIONING, of the service
	Stops     []ServiceStop     //
	Noted     []string          // ids of tasks that are STOPPED, whose ends the service has taken into account
	Service   service.Service   // as it is then; of it Status, Desired of a DAEMON, Deployments, Conditions and Shift are taken
	Events    []service.Event   // new ones
	Rollouts  []service.Rollout // that change
	At        time.Time
}

// ServiceStop is a task that its service stops.
type ServiceStop struct {
	TaskID string
	Reason string
	Failed bool // it is unhealthy: being protected does not keep it, and ServiceMember.Unhealthy says so
}

// ServiceStep is the answer of StepService.
type ServiceStep struct {
	Service *service.Service // after the step; nil when it was not taken
	Refused error            // why its tasks cannot start: ErrLimit, ErrKeyRemoved, ErrNotFound or ErrInactive of cluster and definition; nil: the service is another one by now
}

func (c StepService) apply(tx *tx) (any, error) {
	known := tx.ServiceByID(c.ServiceID)
	if known == nil || known.Version != c.Version || known.Status == service.Inactive || len(c.Service.Deployments) == 0 && !known.IsExternal() {
		return ServiceStep{}, nil
	}
	if err := c.checkStarts(&tx.View, known); err != nil {
		return ServiceStep{Refused: err}, nil
	}
	for _, task := range c.Starts {
		tx.put(tableTasks, task)
	}
	for _, stop := range c.Stops {
		c.stop(tx, known, stop)
	}
	for _, id := range c.Noted {
		tx.noteEnd(known, id)
	}
	for i := range c.Rollouts {
		if r := tx.ServiceRollout(c.Rollouts[i].ID); r != nil && r.ServiceID == known.ID && r.Target.Revision == c.Rollouts[i].Target.Revision {
			tx.put(tableServiceRollouts, &c.Rollouts[i])
		}
	}
	s := *known
	s.Deployments, s.Conditions, s.Shift = c.Service.Deployments, c.Service.Conditions, c.Service.Shift
	s.LeaveNames(tx)
	taskset.Forget(tx, known, &s)
	if s.Strategy == service.Daemon {
		s.Desired = c.Service.Desired
	}
	tx.endService(&s, c.At)
	s.AddEvents(c.Events...)
	s.Version++
	tx.put(tableServices, &s)
	return ServiceStep{Service: &s}, nil
}

// checkStarts refuses all tasks of a step together. A definition that is not ACTIVE any more goes on being used by a deployment that has it.
func (c *StepService) checkStarts(v *View, s *service.Service) error {
	if len(c.Starts) == 0 {
		return nil
	}
	if err := v.checkActive(s.Cluster); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, task := range c.Starts {
		switch {
		case task == nil || task.ID == "" || seen[task.ID] || v.Task(task.ID) != nil:
			return fmt.Errorf("a task of service %s: %w: its id is not new", s.Name, spec.ErrInUse)
		case task.Cluster != s.Cluster || task.Service == nil || task.Service.ID != s.ID || task.Service.Noted || task.Gang != nil:
			return fmt.Errorf("task %s: %w as one of service %s", task.ID, spec.ErrNotFound, s.Name)
		case task.LastStatus != spec.Provisioning || task.HostID != "" || len(task.GPUs()) > 0:
			return fmt.Errorf("task %s: %w: it has a place already", task.ID, spec.ErrInUse)
		case v.exactDefinition(task.Definition) == nil:
			return fmt.Errorf("task definition %q: %w", task.Definition, spec.ErrNotFound)
		}
		seen[task.ID] = true
	}
	more, holder := spec.TallyOf(c.Starts)
	return v.CheckTasks(s.Cluster, holder, more)
}

// stop stops a task of the service, unless it is protected: that ends with the service.
func (c *StepService) stop(tx *tx, s *service.Service, stop ServiceStop) {
	known := tx.Task(stop.TaskID)
	if known == nil || known.Service == nil || known.Service.ID != s.ID {
		return
	}
	if known.ProtectedUntil.Get().After(c.At) && !stop.Failed && s.Status != service.Draining {
		return
	}
	if task := known.WithStop(spec.StopScheduler, stop.Reason, c.At, false); task != known {
		member := *known.Service
		member.Unhealthy = stop.Failed
		task.Service = &member
		task.Version++
		tx.put(tableTasks, task)
	}
}

// noteEnd marks a task of the service that has ended. Readers of changes learn nothing of it: it is the service's own memory.
func (tx *tx) noteEnd(s *service.Service, id string) {
	known := tx.Task(id)
	if known == nil || known.Service == nil || known.Service.ID != s.ID || known.Service.Noted || known.LastStatus != spec.Stopped {
		return
	}
	task, member := *known, *known.Service
	member.Noted = true
	task.Service = &member
	tx.put(tableTasks, &task)
}
