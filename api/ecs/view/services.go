package view

import (
	"pinion/api/ecs/types"
)

// Services are the services of a cluster. There are none yet: the counts, lists and lookups of services all follow from this
// list.
func (r *Renderer) Services(string) []*types.Service { return nil }

// Service finds a service of a cluster by its name, nil when there is none.
func (r *Renderer) Service(cluster, name string) *types.Service {
	for _, service := range r.Services(cluster) {
		if service.ServiceName == name {
			return service
		}
	}
	return nil
}

const (
	serviceActive   = "ACTIVE"
	serviceDraining = "DRAINING"
)

// countServices is how many services have that status and launch type; an empty launch type is any.
func countServices(services []*types.Service, status, launchType string) int64 {
	var n int64
	for _, service := range services {
		if service.Status == status && (launchType == "" || service.LaunchType == launchType) {
			n++
		}
	}
	return n
}

// serviceStatistics are ECS's, name by name.
func serviceStatistics(services []*types.Service) []types.KeyValuePair {
	var all []types.KeyValuePair
	for _, status := range []struct{ name, status string }{{"active", serviceActive}, {"draining", serviceDraining}} {
		for _, launch := range []struct{ name, launchType string }{{"EC2", LaunchEC2}, {"Fargate", LaunchFargate}, {"External", LaunchExternal}} {
			all = append(all, statistic(status.name+launch.name+"ServiceCount", countServices(services, status.status, launch.launchType)))
		}
	}
	return all
}
