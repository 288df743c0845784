package view

import (
	"slices"

	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Cluster renders a cluster, with counters that follow from its hosts and tasks.
func (r *Renderer) Cluster(cluster *spec.Cluster, include []string) types.Cluster {
	count := countTasks(r.View.Tasks(cluster.Name))
	out := types.Cluster{
		ClusterARN: r.ClusterARN(cluster.Name), ClusterName: cluster.Name, Status: string(cluster.Status),
		RegisteredContainerInstancesCount: len(r.View.Hosts(cluster.Name)),
		RunningTasksCount:                 count.running(), PendingTasksCount: count.pending(),
		ActiveServicesCount: int(NewServices(r).count(cluster.Name, service.Active, "")),
		Statistics:          []types.KeyValuePair{}, Tags: []spec.Tag{}, Settings: []spec.Setting{},
		CapacityProviders: nonNil(cluster.CapacityProviders), DefaultCapacityProviderStrategy: strategy(cluster.DefaultStrategy),
	}
	if slices.Contains(include, "STATISTICS") {
		out.Statistics = slices.Concat(count.statistics(), NewServices(r).statistics(cluster.Name), r.capacityStatistics(cluster.Name))
	}
	if slices.Contains(include, "TAGS") {
		out.Tags = nonNil(cluster.Tags)
	}
	if slices.Contains(include, "SETTINGS") {
		out.Settings = spec.MergeSettings([]spec.Setting{{Name: ContainerInsights, Value: ContainerInsightsDefault}}, cluster.Settings)
	}
	if slices.Contains(include, "CONFIGURATIONS") {
		out.Configuration = cluster.Configuration
	}
	if slices.Contains(include, "ATTACHMENTS") {
		out.Attachments = []types.Attachment{}
		if len(cluster.CapacityProviders) > 0 {
			out.AttachmentsStatus = "UPDATE_COMPLETE" // a change of them is complete as soon as it is on record
		}
	}
	if cluster.Namespace != "" {
		out.ServiceConnectDefaults = &types.ServiceConnectDefaults{Namespace: cluster.Namespace}
	}
	return out
}

// ContainerInsights is the setting that clusters have, and its value where none was chosen.
const (
	ContainerInsights        = "containerInsights"
	ContainerInsightsDefault = "disabled"
)

func strategy(items []spec.CapacityProviderStrategyItem) []types.StrategyItem {
	out := []types.StrategyItem{}
	for _, item := range items {
		out = append(out, types.StrategyItem{CapacityProvider: item.CapacityProvider, Base: item.Base, Weight: item.Weight})
	}
	return out
}
