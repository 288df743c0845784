package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// template makes tasks of a deployment of a service.
type template struct {
	v          *raftfsm.View
	s          *service.Service
	of         *service.Deployment
	definition *spec.TaskDefinition
	zones      int // of the hosts
}

// templates makes the templates of a service.
type templates struct {
	v     *raftfsm.View
	s     *service.Service
	zones int // of the hosts
}

// of returns the template of the tasks of a deployment; nil when its definition was forgotten.
func (t templates) of(d *service.Deployment) *template {
	definition := t.v.Definition(d.Definition)
	if definition == nil {
		return nil
	}
	return &template{t.v, t.s, d, definition, t.zones}
}

// task makes one, of a DAEMON for a host.
func (t *template) task(host string, newID func() string, now time.Time) *spec.Task {
	task := schedule.NewPendingTasks(schedule.Request{Run: t.request(host), Definition: t.definition, IDs: newID, At: now})[0]
	task.Service = &spec.ServiceMember{ID: t.s.ID, Deployment: t.of.ID, Host: host}
	if task.Run = ""; t.definition.ResolvesOnce() {
		task.Run = t.of.ID // all tasks of a deployment have the same digests
	}
	return task
}

// taskIn makes one for an availability zone.
func (t *template) taskIn(zone string, newID func() string, now time.Time) *spec.Task {
	task := t.task("", newID, now)
	quoted := "'" + strings.ReplaceAll(zone, "'", "''") + "'"
	in := spec.PlacementConstraint{Type: spec.MemberOf, Expression: fmt.Sprintf("%s == %s", service.SpreadOverZones.Field, quoted)}
	task.Queue.Constraints = append(slices.Clip(task.Queue.Constraints), in)
	return task
}

func (t *template) request(host string) spec.RunRequest {
	launchType, providers := "", t.s.Settings.Providers
	revision := t.v.ServiceRevision(t.of.ID)
	if revision != nil {
		launchType = revision.LaunchType
		if len(providers) == 0 {
			providers = revision.Providers
		}
	}
	r := spec.RunRequest{
		Cluster: t.s.Cluster, Definition: t.definition.Name(), Count: 1, Group: t.s.Group(), StartedBy: service.DeploymentName(t.of.ID),
		LaunchType: launchType, Tags: t.taskTags(), ByAdmin: t.s.ByAdmin, Exec: t.exec(),
		Constraints: slices.Concat(t.s.Settings.Constraints, revision.Constraints()), Strategy: t.strategy(), CapacityProvider: provider(providers),
	}
	if t.s.Owner != nil {
		r.Key = t.s.Owner.Key
	}
	if host != "" {
		on := spec.PlacementConstraint{Type: spec.MemberOf, Expression: fmt.Sprintf("attribute:%s == %s", spec.AttributeHostID, host)}
		r.Constraints = append(slices.Clip(r.Constraints), on)
	}
	return r
}

// strategy is the placement strategy: without a word of the user's, tasks that are rebalanced between zones are spread over them from the beginning.
func (t *template) strategy() []spec.PlacementStrategy {
	if len(t.s.Settings.Placement) == 0 && t.zones > 1 && t.s.Rebalances() {
		return []spec.PlacementStrategy{service.SpreadOverZones}
	}
	return t.s.Settings.Placement
}

// provider is the capacity provider that tasks wait in: the first of the strategy that has a base or a weight.
func provider(items []spec.CapacityProviderStrategyItem) string {
	for _, item := range items {
		if len(items) == 1 || item.Base > 0 || item.Weight > 0 {
			return item.CapacityProvider
		}
	}
	return spec.BuiltinCapacityProvider
}

// Tags that the tasks of a service never have: a service replaces its tasks itself, one by one.
var notOfServices = []string{spec.TagGang, spec.TagRetries, spec.TagRetryOn, spec.TagAfter, spec.TagWaitForHost, spec.TagHold, spec.TagIdleTimeout, spec.TagIdleAction, spec.TagGPUAlternatives}

// Keys of the tags of managed tags, ECS's.
const (
	clusterTag = spec.ReservedTag + "ecs:clusterName"
	serviceTag = spec.ReservedTag + "ecs:serviceName"
	daemonTag  = spec.ReservedTag + "ecs:daemonName"
)

// taskTags are the tags of a task: those of the service that say how its tasks are scheduled, those that are propagated, as many as a task can have,
// and ECS's own. A definition says nothing of how the tasks of a service are scheduled: who may tag it is not held to what the service was granted.
func (t *template) taskTags() (tags []spec.Tag) {
	for _, tag := range t.s.Tags {
		if schedules(tag) && !slices.Contains(notOfServices, tag.Key) {
			tags = append(tags, tag)
		}
	}
	for _, tag := range t.propagated() {
		if !schedules(tag) {
			tags = append(tags, tag)
		}
	}
	tags = tags[:min(len(tags), spec.MaxTags)]
	if t.tagging().Managed {
		tags = append(tags, spec.Tag{Key: clusterTag, Value: t.s.Cluster}, t.managedName())
	}
	return tags
}

// tagging is that of the revision of a daemon, to which a rollback goes back, or that of the service.
func (t *template) tagging() service.Tagging {
	if revision := t.v.ServiceRevision(t.of.ID); revision != nil && revision.Tagging != nil {
		return *revision.Tagging
	}
	return service.Tagging{Propagate: t.s.Settings.PropagateTags, Managed: t.s.Settings.ManagedTags}
}

// exec reports whether commands may be run in the tasks: as the revision of a daemon says, to which a rollback goes back, or the service.
func (t *template) exec() bool {
	if revision := t.v.ServiceRevision(t.of.ID); revision != nil && revision.Tagging != nil {
		return revision.ExecuteCommand
	}
	return t.s.Settings.ExecuteCommand
}

// managedName is the managed tag that names the service, or the daemon.
func (t *template) managedName() spec.Tag {
	if name, ok := strings.CutPrefix(t.s.Name, spec.DaemonPrefix); ok {
		return spec.Tag{Key: daemonTag, Value: name}
	}
	return spec.Tag{Key: serviceTag, Value: t.s.Name}
}

// propagated are the tags of which tasks get what does not say how they are scheduled.
func (t *template) propagated() []spec.Tag {
	switch t.tagging().Propagate {
	case "TASK_DEFINITION":
		return t.definition.Tags
	case "SERVICE":
		return t.s.Tags
	}
	return nil
}

// schedules reports whether a tag says how a task is scheduled.
func schedules(tag spec.Tag) bool { return slices.Contains(spec.ReservedTagKeys(), tag.Key) }
