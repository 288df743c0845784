package view

import (
	"pinion/api/ecs/arn"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// Stability statuses of task sets, ECS's.
const (
	steadyState = "STEADY_STATE"
	stabilizing = "STABILIZING"
)

// scaleUnit is the one unit of scales.
const scaleUnit = "PERCENT"

// TaskSets renders the task sets of an EXTERNAL service, the newest first.
func (v *Services) TaskSets(s *service.Service, withTags bool) []types.TaskSet {
	counts, all := v.revisionCounts(s.ID), []types.TaskSet{}
	for i := range s.Deployments {
		all = append(all, v.taskSet(s, &s.Deployments[i], counts[s.Deployments[i].ID], withTags))
	}
	return all
}

// TaskSet renders a deployment of an EXTERNAL service.
func (v *Services) TaskSet(s *service.Service, d *service.Deployment, withTags bool) types.TaskSet {
	return v.taskSet(s, d, v.revisionCounts(s.ID)[d.ID], withTags)
}

func (v *Services) taskSet(s *service.Service, d *service.Deployment, n revisionCount, withTags bool) types.TaskSet {
	set, revision := v.recordOf(d), v.revision(d.ID)
	out := types.TaskSet{
		ID: service.DeploymentName(d.ID), TaskSetARN: v.TaskSetARN(s, d), ServiceARN: v.r.ServiceARN(s.Cluster, s.Name), ClusterARN: v.r.ClusterARN(s.Cluster),
		ExternalID: set.ExternalID, Status: string(d.Status), TaskDefinition: v.r.DefinitionARN(d.Definition), ComputedDesiredCount: set.Desired(s, d),
		RunningCount: n.running, PendingCount: n.pending, CreatedAt: wire.NewTime(d.CreatedAt), UpdatedAt: wire.NewTime(d.UpdatedAt),
		CapacityProviderStrategy: []types.StrategyItem{}, LoadBalancers: loadBalancers(revision), ServiceRegistries: []types.ServiceRegistry{},
		Scale: types.Scale{Value: set.Scale.Float(), Unit: scaleUnit}, StabilityStatus: stabilizing, StabilityStatusAt: wire.NewTime(d.UpdatedAt), Tags: []spec.Tag{},
	}
	// The reconciler says whether they are healthy. Between two of its steps the numbers say that they are too few, or too many.
	if d.State == service.Completed && n.pending == 0 && n.running == out.ComputedDesiredCount {
		out.StabilityStatus = steadyState
	}
	if revision != nil {
		out.CapacityProviderStrategy, out.NetworkConfiguration = strategy(revision.Providers), networkConfiguration(revision)
	}
	if len(out.CapacityProviderStrategy) == 0 {
		out.LaunchType = v.launchType(d.ID)
	}
	if withTags {
		out.Tags = nonNil(set.Tags)
	}
	return out
}

// recordOf is what the state has of a task set beside its deployment.
func (v *Services) recordOf(d *service.Deployment) *taskset.Set {
	if v.Changed != nil && v.Changed.ID == d.ID {
		return v.Changed
	}
	if set := taskset.Find(v.r.View, d.ID); set != nil {
		return set
	}
	return &taskset.Set{ID: d.ID} // it went with the change that is answered
}

// TaskSetARN is the ARN of a task set.
func (v *Services) TaskSetARN(s *service.Service, d *service.Deployment) string {
	return arn.Make(v.r.Region, arn.TaskSet+"/"+s.Cluster+"/"+s.Name+"/"+service.DeploymentName(d.ID))
}
