package raftfsm

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/change"
	"pinion/raftfsm/command"
	"pinion/raftfsm/service"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableServiceRevisions = register(noun[service.Revision]{
		table: "serviceRevisions", indexes: []*table.Index[service.Revision]{revisionsByID}, refersTo: []string{"services"},
		noChanges: "its deployment is told", noExpiry: "it goes with its rollout", noCluster: "its service does",
	})
	revisionsByID = table.By(func(r *service.Revision) string { return r.ID })

	tableServiceRollouts = register(noun[service.Rollout]{
		table: "serviceRollouts", indexes: []*table.Index[service.Rollout]{rolloutsByID, rolloutsByService, rolloutsOver}, refersTo: []string{"services", "serviceRevisions"},
		changes: change.OfRollout, emits: []ChangeKind{HookChange}, noCluster: "its service does",
		expired: func(v *View, r Reap) iter.Seq[*service.Rollout] {
			return func(yield func(*service.Rollout) bool) {
				for old := range rolloutsOver.Until(v, func(o *service.Rollout) bool { return !o.FinishedAt.Before(r.InactiveBefore) }) {
					if !isDeployed(v, old) && !yield(old) {
						return
					}
				}
			}
		},
		afterReap: func(tx *tx, gone []*service.Rollout, _ Reap) {
			for _, old := range gone {
				tx.forgetRevision(old)
			}
		},
	})
	rolloutsByID      = table.By(rolloutID)
	rolloutsByService = table.By(func(r *service.Rollout) string { return r.ServiceID }).ThenNumber(func(r *service.Rollout) int64 { return sortkey.Time(r.CreatedAt) }).Then(rolloutID)
	rolloutsOver      = table.ByNumber(func(r *service.Rollout) int64 { return sortkey.Time(r.FinishedAt) }).Then(rolloutID).Where((*service.Rollout).IsFinished)
)

func rolloutID(r *service.Rollout) string { return r.ID }

// ServiceRevision returns nil when the id is unknown.
func (v *View) ServiceRevision(id string) *service.Revision {
	return revisionsByID.Get(v, sortkey.Key{First: id})
}

// ServiceRollout returns nil when the id is unknown.
func (v *View) ServiceRollout(id string) *service.Rollout {
	return rolloutsByID.Get(v, sortkey.Key{First: id})
}

// ServiceRollouts lists the rollouts of a service, the oldest first.
func (v *View) ServiceRollouts(serviceID string) []*service.Rollout {
	return rolloutsByService.List(v, serviceID)
}

// isDeployed reports whether a deployment of the service has the revision that the rollout led to.
func isDeployed(v *View, r *service.Rollout) bool {
	s := v.ServiceByID(r.ServiceID)
	return s != nil && s.Deployment(r.Target.Revision) != nil
}

// deploy records a revision and its rollout, and makes its deployment the PRIMARY one of the service, which is the command's own copy. The
// oldest rollouts beyond MaxRollouts are forgotten. ErrNotFound and ErrInactive for the definition, ErrInUse for ids that are used.
func (tx *tx) deploy(s *service.Service, revision service.Revision, rollout service.Rollout) error {
	definition := tx.exactDefinition(revision.Definition)
	switch {
	case definition == nil, spec.IsOfDaemons(revision.Definition) != s.IsDaemon():
		return fmt.Errorf("task definition %q: %w", revision.Definition, spec.ErrNotFound)
	case definition.Status != spec.DefinitionActive:
		return fmt.Errorf("task definition %q: %w", revision.Definition, spec.ErrInactive)
	case tx.ServiceRevision(revision.ID) != nil || tx.ServiceRollout(rollout.ID) != nil:
		return fmt.Errorf("service %s: revision %s or rollout %s: %w", s.Name, revision.ID, rollout.ID, spec.ErrInUse)
	}
	revision.ServiceID, revision.Cluster, revision.Service = s.ID, s.Cluster, s.Name
	rollout.ServiceID, rollout.Cluster, rollout.Service = s.ID, s.Cluster, s.Name
	rollout.Configuration, rollout.Pauses = s.Settings.Deployment, nil
	rollout.Target.Revision, rollout.Status, rollout.Rollback, rollout.FinishedAt, rollout.StoppedAt = revision.ID, service.RolloutInProgress, nil, time.Time{}, time.Time{}
	s.Begin(&revision, &rollout)
	s.Deployments = slices.DeleteFunc(s.Deployments, func(d service.Deployment) bool {
		last := s.LastCompleted()
		return d.Status != service.Primary && (last == nil || last.ID != d.ID) && !hasLiveTasks(&tx.View, s.ID, d.ID)
	})
	tx.put(tableServiceRevisions, &revision)
	tx.put(tableServiceRollouts, &rollout)
	rollouts := tx.ServiceRollouts(s.ID)
	for _, old := range rollouts[:max(0, len(rollouts)-service.MaxRollouts)] {
		if s.Deployment(old.Target.Revision) == nil {
			tx.remove(tableServiceRollouts, old)
			tx.forgetRevision(old)
		}
	}
	return s.HoldNames(tx)
}

// stopRollout ends the rollout in progress of a service, if there is one.
func (tx *tx) stopRollout(s *service.Service, reason string, at time.Time) {
	if r := tx.ServiceRollout(s.Primary().Rollout); r != nil && !r.IsFinished() {
		tx.put(tableServiceRollouts, r.End(service.RolloutStopped, reason, at))
	}
}

// forgetRollouts removes the rollouts and the revisions of a service that is gone.
func (tx *tx) forgetRollouts(serviceID string) {
	for _, old := range tx.ServiceRollouts(serviceID) {
		tx.remove(tableServiceRollouts, old)
		tx.forgetRevision(old)
	}
}

// forgetRevision removes the revision that a rollout led to.
func (tx *tx) forgetRevision(r *service.Rollout) {
	if revision := tx.ServiceRevision(r.Target.Revision); revision != nil {
		tx.remove(tableServiceRevisions, revision)
	}
}

// RollBackService takes an ACTIVE service back to its last completed deployment. ErrNotFound, ErrInactive; service.ErrRolloutOver unless the
// rollout is in progress, service.ErrNoRollback. Answer: *service.Service.
type RollBackService struct {
	Cluster, Name string
	Rollout       string
	Reason        string
	At            time.Time
}

func (c RollBackService) apply(tx *tx) (any, error) {
	s, err := command.MutableService(tx, c.Cluster, c.Name)
	if err != nil {
		return nil, err
	}
	r := tx.ServiceRollout(c.Rollout)
	if r == nil || r.ServiceID != s.ID {
		return nil, fmt.Errorf("rollout %s of service %s: %w", c.Rollout, c.Name, spec.ErrNotFound)
	}
	back, err := s.RollBack(r, c.Reason, c.At)
	if err != nil {
		return nil, fmt.Errorf("rollout %s of service %s: %w", c.Rollout, c.Name, err)
	}
	tx.put(tableServiceRollouts, back)
	tx.put(tableServices, s)
	return s, nil
}

// ContinueService answers a hook that has paused the rollout of an ACTIVE service: the rollout goes on, or the service goes back to its last completed
// deployment. ErrNotFound, ErrInactive; service.ErrRolloutOver unless the rollout is in progress, service.ErrNotPaused unless the hook waits,
// service.ErrNoRollback. Answer: *service.Service.
type ContinueService struct {
	Cluster, Name string
	Rollout       string
	Hook          string // service.Pause.ID
	Action        service.HookAction
	By            string // who has asked for it
	EventID       string // UUID
	At            time.Time
}

func (c ContinueService) apply(tx *tx) (any, error) {
	s, err := command.MutableService(tx, c.Cluster, c.Name)
	if err != nil {
		return nil, err
	}
	r := tx.ServiceRollout(c.Rollout)
	if r == nil || r.ServiceID != s.ID {
		return nil, fmt.Errorf("rollout %s of service %s: %w", c.Rollout, c.Name, spec.ErrNotFound)
	}
	paused := s.Primary().ID
	answered, pause, err := s.Answer(r, c.Hook, c.Action, c.By, c.At)
	if err != nil {
		return nil, fmt.Errorf("rollout %s of service %s: %w", c.Rollout, c.Name, err)
	}
	s.AddEvents(service.Event{ID: c.EventID, At: c.At, Message: pause.Message(s, paused, c.By)})
	tx.put(tableServiceRollouts, answered)
	tx.put(tableServices, s)
	return s, nil
}

// ProtectTasks keeps services from stopping tasks of theirs until a moment, but for those that have failed; the zero moment ends that. Answer:
// []string, for each task "" or ECS's reason why not: MISSING, TASK_NOT_VALID, DEPLOYMENT_BLOCKED while the service is rolled back from the
// task's deployment.
type ProtectTasks struct {
	Cluster string
	Tasks   []string
	Until   time.Time
}

// Reasons of ProtectTasks beside spec.ReasonMissing, verbatim from ECS.
const ReasonTaskNotValid, ReasonDeploymentBlocked = "TASK_NOT_VALID", "DEPLOYMENT_BLOCKED"

func (c ProtectTasks) apply(tx *tx) (any, error) {
	answers := make([]string, len(c.Tasks))
	for i, id := range c.Tasks {
		known := tx.Task(id)
		if answers[i] = c.refusal(&tx.View, known); answers[i] != "" || known.ProtectedUntil.Get().Equal(c.Until) {
			continue
		}
		task := *known
		task.ProtectedUntil = spec.Box(c.Until)
		task.Version++
		tx.put(tableTasks, &task)
	}
	return answers, nil
}

// refusal is ECS's reason why a task cannot be protected; t is nil when it is unknown.
func (c ProtectTasks) refusal(v *View, t *spec.Task) string {
	switch {
	case t == nil || t.Cluster != c.Cluster || t.LastStatus == spec.Stopped:
		return spec.ReasonMissing
	case t.Service == nil:
		return ReasonTaskNotValid
	}
	s := v.ServiceByID(t.Service.ID)
	if s == nil || s.IsDaemon() {
		return ReasonTaskNotValid
	}
	r := v.ServiceRollout(s.Primary().Rollout)
	if !c.Until.IsZero() && s.Primary().ID != t.Service.Deployment && r != nil && r.Status == service.RolloutRollbackInProgress {
		return ReasonDeploymentBlocked
	}
	return ""
}
