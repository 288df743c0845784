package view

import (
	"cmp"
	"slices"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// Services renders services and their deployments, with what a Renderer knows. It is used by one goroutine.
type Services struct {
	Added   *service.Revision // a revision that was recorded after the view; nil: none
	Changed *taskset.Set      // a task set that was recorded after the view; nil: none
	r       *Renderer
}

// NewServices renders what a Renderer's view has.
func NewServices(r *Renderer) *Services { return &Services{r: r} }

// revision is a revision of a service, nil when there is none of that id.
func (v *Services) revision(id string) *service.Revision {
	if v.Added != nil && v.Added.ID == id {
		return v.Added
	}
	return v.r.View.ServiceRevision(id)
}

// Service renders a service, with counters that follow from its tasks.
func (v *Services) Service(s *service.Service, withTags bool) types.Service {
	counts := v.revisionCounts(s.ID)
	out := types.Service{
		ServiceARN: v.r.ServiceARN(s.Cluster, s.Name), ServiceName: s.Name, ClusterARN: v.r.ClusterARN(s.Cluster), Status: string(s.Status),
		ServiceRegistries: []types.ServiceRegistry{}, DesiredCount: s.Desired, CapacityProviderStrategy: strategy(s.Settings.Providers),
		DeploymentConfiguration: deploymentConfiguration(&s.Settings.Deployment, s.Strategy), DeploymentController: &types.DeploymentController{Type: cmp.Or(s.Controller, "ECS")},
		RoleARN: s.Role, Events: serviceEvents(s.Events), CreatedAt: wire.NewTime(s.CreatedAt), CreatedBy: s.CreatedBy, PlacementConstraints: nonNil(s.Settings.Constraints),
		PlacementStrategy: nonNil(s.Settings.Placement), HealthCheckGracePeriodSeconds: s.Settings.GraceSeconds, SchedulingStrategy: string(s.Strategy),
		Tags: []spec.Tag{}, EnableECSManagedTags: s.Settings.ManagedTags, PropagateTags: s.Settings.PropagateTags,
		EnableExecuteCommand: s.Settings.ExecuteCommand, AvailabilityZoneRebalancing: s.Settings.Rebalancing, ResourceManagementType: "CUSTOMER",
		Deployments: []types.Deployment{}, CurrentServiceRevisions: []types.ServiceCurrentRevisionSummary{},
	}
	if withTags {
		out.Tags = nonNil(s.Tags)
	}
	v.ofPrimary(s, &out)
	for _, n := range counts {
		out.RunningCount, out.PendingCount = out.RunningCount+n.running, out.PendingCount+n.pending
	}
	if s.IsExternal() {
		out.TaskSets = v.TaskSets(s, withTags)
	}
	if s.Status == service.Inactive || s.IsExternal() {
		return out
	}
	for i := range s.Deployments {
		d := &s.Deployments[i]
		out.Deployments = append(out.Deployments, v.deployment(s, d, counts[d.ID]))
		out.CurrentServiceRevisions = append(out.CurrentServiceRevisions, types.ServiceCurrentRevisionSummary{
			ARN: v.revisionARN(s.Cluster, s.Name, d.ID), RequestedTaskCount: requested(s, d, counts[d.ID]),
			RunningTaskCount: counts[d.ID].running, PendingTaskCount: counts[d.ID].pending,
		})
	}
	return out
}

// ofPrimary shows what a service has of its PRIMARY deployment: of an EXTERNAL one nothing until a task set is it.
func (v *Services) ofPrimary(s *service.Service, out *types.Service) {
	primary := s.Primary()
	revision := v.revision(primary.ID)
	out.NetworkConfiguration = networkConfiguration(revision)
	if out.LoadBalancers = loadBalancers(revision); primary.ID == "" {
		return
	}
	if out.TaskDefinition = v.r.DefinitionARN(primary.Definition); !s.IsExternal() {
		out.CurrentServiceDeployment = v.rolloutARN(s.Cluster, s.Name, primary.Rollout)
	} else if revision != nil {
		out.CapacityProviderStrategy = strategy(revision.Providers)
	}
	if len(out.CapacityProviderStrategy) == 0 {
		out.LaunchType = v.launchType(primary.ID)
	}
}

// RevisionCounts are the revisions that a service has now, with their tasks, the newest first.
func (v *Services) RevisionCounts(s *service.Service) (all []service.RevisionCount) {
	counts := v.revisionCounts(s.ID)
	for i := range s.Deployments {
		d := &s.Deployments[i]
		n := counts[d.ID]
		all = append(all, service.RevisionCount{Revision: d.ID, Requested: requested(s, d, n), Running: n.running, Pending: n.pending})
	}
	return all
}

// revisionCount is how many tasks of a revision there are.
type revisionCount struct {
	running, pending int
	wanted           int // that are not to stop
}

// revisionCounts counts the tasks of a service by their revision, which has the id of its deployment.
func (v *Services) revisionCounts(serviceID string) map[string]revisionCount {
	counts := map[string]revisionCount{}
	for _, t := range v.r.View.ServiceTasks(serviceID) {
		n := counts[t.Service.Deployment]
		switch t.LastStatus {
		case spec.Running:
			n.running++
		case spec.Provisioning, spec.Pending:
			n.pending++
		}
		if t.DesiredStatus == spec.Running {
			n.wanted++
		}
		counts[t.Service.Deployment] = n
	}
	return counts
}

// requested is how many tasks of a deployment there are to be: of one that is being replaced those that are left.
func requested(s *service.Service, d *service.Deployment, n revisionCount) int {
	if d.Status == service.Primary {
		return s.Desired
	}
	return n.wanted
}

func (v *Services) deployment(s *service.Service, d *service.Deployment, n revisionCount) types.Deployment {
	out := types.Deployment{
		ID: service.DeploymentName(d.ID), Status: string(d.Status), TaskDefinition: v.r.DefinitionARN(d.Definition), DesiredCount: requested(s, d, n),
		PendingCount: n.pending, RunningCount: n.running, FailedTasks: d.FailedTasks, CreatedAt: wire.NewTime(d.CreatedAt), UpdatedAt: wire.NewTime(d.UpdatedAt),
		CapacityProviderStrategy: []types.StrategyItem{}, RolloutState: string(d.State), RolloutStateReason: d.Reason,
	}
	if revision := v.revision(d.ID); revision != nil {
		out.CapacityProviderStrategy, out.NetworkConfiguration = strategy(revision.Providers), networkConfiguration(revision)
		out.ServiceConnectConfiguration, out.ServiceConnectResources = serviceConnect(revision), v.connectResources(revision)
	}
	if len(out.CapacityProviderStrategy) == 0 {
		out.LaunchType = v.launchType(d.ID)
	}
	return out
}

// launchType is that of the tasks of a revision.
func (v *Services) launchType(revision string) string {
	if known := v.revision(revision); known != nil {
		return cmp.Or(known.LaunchType, LaunchTypeEC2)
	}
	return LaunchTypeEC2
}

// serviceEvents are the newest first, as ECS shows them.
func serviceEvents(events []service.Event) []types.ServiceEvent {
	out := []types.ServiceEvent{}
	for _, e := range slices.Backward(events) {
		out = append(out, types.ServiceEvent{ID: e.ID, CreatedAt: wire.NewTime(e.At), Message: e.Message})
	}
	return out
}

// count is how many services have that status and launch type; an empty launch type is any. Daemons are none.
func (v *Services) count(cluster string, status service.Status, launchType string) (n int64) {
	for _, s := range v.r.View.Services(cluster) {
		if s.Status == status && !s.IsDaemon() && (launchType == "" || v.LaunchType(s) == launchType) {
			n++
		}
	}
	return n
}

// LaunchType is the launch type of a service, empty for one with capacity providers.
func (v *Services) LaunchType(s *service.Service) string {
	if len(s.Settings.Providers) > 0 {
		return ""
	}
	return v.launchType(s.Primary().ID)
}

// statistics are ECS's, name by name.
func (v *Services) statistics(cluster string) []types.KeyValuePair {
	var all []types.KeyValuePair
	for _, status := range []struct {
		name   string
		status service.Status
	}{{"active", service.Active}, {"draining", service.Draining}} {
		for _, kind := range []struct{ name, launchType string }{{"EC2", LaunchTypeEC2}, {"Fargate", LaunchTypeFargate}, {"External", LaunchTypeExternal}} {
			all = append(all, statistic(status.name+kind.name+"ServiceCount", v.count(cluster, status.status, kind.launchType)))
		}
	}
	return all
}

func (v *Services) rolloutARN(cluster, name, id string) string {
	return v.r.serviceDeploymentARN(cluster, name, id)
}

func (r *Renderer) serviceDeploymentARN(cluster, name, id string) string {
	return arn.Make(r.Region, arn.InCluster(arn.ServiceDeployment, arn.DaemonDeployment, cluster, name)+"/"+id)
}

func (v *Services) revisionARN(cluster, name, id string) string {
	return arn.Make(v.r.Region, arn.InCluster(arn.ServiceRevision, arn.DaemonRevision, cluster, name)+"/"+id)
}
