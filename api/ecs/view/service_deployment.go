package view

import (
	"cmp"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// ServiceDeployment renders a rollout. The counts of one that is under way follow from the tasks there are.
func (v *Services) ServiceDeployment(d *service.Rollout) types.ServiceDeployment {
	target := d.Target
	if !d.IsFinished() {
		n := v.revisionCounts(d.ServiceID)[target.Revision]
		target.Running, target.Pending = n.running, n.pending
	}
	strategy := service.Replica
	if s := v.r.View.Service(d.Cluster, d.Service); s != nil && s.ID == d.ServiceID {
		strategy = s.Strategy
	}
	summary := v.revisionSummary(d, target)
	out := types.ServiceDeployment{
		ServiceDeploymentARN: v.rolloutARN(d.Cluster, d.Service, d.ID), ServiceARN: v.r.ServiceARN(d.Cluster, d.Service), ClusterARN: v.r.ClusterARN(d.Cluster),
		CreatedAt: wire.NewTime(d.CreatedAt), StartedAt: wire.NewTime(d.StartedAt), FinishedAt: wire.NewTime(d.FinishedAt), StoppedAt: wire.NewTime(d.StoppedAt),
		UpdatedAt: wire.NewTime(d.UpdatedAt), SourceServiceRevisions: []types.ServiceRevisionSummary{}, TargetServiceRevision: &summary,
		Status: string(d.Status), StatusReason: d.Reason, DeploymentConfiguration: deploymentConfiguration(&d.Configuration, strategy),
		DeploymentCircuitBreaker: &types.ServiceDeploymentCircuitBreaker{Status: breakerStatus(d), FailureCount: d.Failures, Threshold: d.Threshold},
		LifecycleHookDetails:     hookDetails(d),
	}
	v.lifecycle(d, &out)
	for _, source := range d.Sources {
		out.SourceServiceRevisions = append(out.SourceServiceRevisions, v.revisionSummary(d, source))
	}
	if back := d.Rollback; back != nil {
		out.Rollback = &types.Rollback{Reason: back.Reason, StartedAt: wire.NewTime(back.StartedAt), ServiceRevisionARN: v.revisionARN(d.Cluster, d.Service, back.Revision)}
	}
	return out
}

func (v *Services) revisionSummary(d *service.Rollout, n service.RevisionCount) types.ServiceRevisionSummary {
	return types.ServiceRevisionSummary{
		ARN: v.revisionARN(d.Cluster, d.Service, n.Revision), RequestedTaskCount: n.Requested, RunningTaskCount: n.Running, PendingTaskCount: n.Pending,
	}
}

// breakerStatus is ECS's word for how a circuit breaker stands.
func breakerStatus(d *service.Rollout) string {
	switch {
	case d.Threshold == 0:
		return "DISABLED"
	case d.Tripped:
		return "TRIGGERED"
	case d.IsFinished():
		return "MONITORING_COMPLETE"
	}
	return "MONITORING"
}

// ServiceDeploymentBrief renders the part of a rollout that lists show.
func (v *Services) ServiceDeploymentBrief(d *service.Rollout) types.ServiceDeploymentBrief {
	return types.ServiceDeploymentBrief{
		ServiceDeploymentARN: v.rolloutARN(d.Cluster, d.Service, d.ID), ServiceARN: v.r.ServiceARN(d.Cluster, d.Service), ClusterARN: v.r.ClusterARN(d.Cluster),
		StartedAt: wire.NewTime(d.StartedAt), CreatedAt: wire.NewTime(d.CreatedAt), FinishedAt: wire.NewTime(d.FinishedAt),
		TargetServiceRevisionARN: v.revisionARN(d.Cluster, d.Service, d.Target.Revision), Status: string(d.Status), StatusReason: d.Reason,
	}
}

// ServiceRevision renders a revision of a service.
func (v *Services) ServiceRevision(of *service.Revision) types.ServiceRevision {
	out := types.ServiceRevision{
		ServiceRevisionARN: v.revisionARN(of.Cluster, of.Service, of.ID), ServiceARN: v.r.ServiceARN(of.Cluster, of.Service), ClusterARN: v.r.ClusterARN(of.Cluster),
		TaskDefinition: v.r.DefinitionARN(of.Definition), CapacityProviderStrategy: strategy(of.Providers), LoadBalancers: loadBalancers(of),
		ServiceRegistries: []types.ServiceRegistry{}, ServiceConnectConfiguration: serviceConnect(of), ContainerImages: containerImages(v.r.definition(of.Definition)), CreatedAt: wire.NewTime(of.CreatedAt),
	}
	out.NetworkConfiguration = networkConfiguration(of)
	if len(of.Providers) == 0 {
		out.LaunchType = cmp.Or(of.LaunchType, LaunchTypeEC2)
	}
	return out
}

// containerImages are those of a definition; nil has none.
func containerImages(d *spec.TaskDefinition) []types.ContainerImage {
	images := []types.ContainerImage{}
	if d == nil {
		return images
	}
	for i := range d.Containers {
		images = append(images, types.ContainerImage{ContainerName: d.Containers[i].Name, Image: d.Containers[i].Image})
	}
	return images
}

// loadBalancers are those of a revision; nil has none.
func loadBalancers(of *service.Revision) []types.LoadBalancer {
	all := []types.LoadBalancer{}
	if of == nil {
		return all
	}
	for i := range of.LoadBalancers {
		b := &of.LoadBalancers[i]
		all = append(all, types.LoadBalancer{TargetGroupARN: b.ARN, ContainerName: b.Container, ContainerPort: &b.Port, AdvancedConfiguration: advanced(&b.Advanced)})
	}
	return all
}
