package ecs

import (
	"context"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// ECS's limits for one request.
const (
	maxServices    = 10
	listedServices = 10 // where a request names no number
)

// Errors in ECS's words, which clients match.
var (
	errNoService        = wire.Errorf("ServiceNotFoundException", "Service not found.")
	errServiceNotActive = wire.Errorf("ServiceNotActiveException", "Service was not ACTIVE.")
)

// seesService reports whether the caller's key may know of a service.
func seesService(r *Request, s *service.Service) bool { return auth.SeesService(r.Grant, s) }

// findService finds a service of the cluster by its name or ARN. Those of others are not found.
func findService(r *Request, cluster, given string) (*service.Service, error) {
	name, err := call.ParseInCluster(cluster, arn.Service, given)
	if err != nil {
		return nil, err
	}
	if s := r.View.Service(cluster, name); s != nil && seesService(r, s) {
		return s, nil
	}
	return nil, errNoService
}

// listServices lists the ACTIVE services: ECS leaves out one that is being deleted, too.
func listServices(_ context.Context, r *Request, in *types.ListServicesInput) (*types.ListServicesOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	var matching []*service.Service
	for _, s := range r.View.Services(cluster.Name) {
		if s.Status == service.Active && !s.IsDaemon() && seesService(r, s) &&
			(in.LaunchType == "" || in.LaunchType == r.Services().LaunchType(s)) &&
			(in.SchedulingStrategy == "" || in.SchedulingStrategy == string(s.Strategy)) &&
			(in.ResourceManagementType == "" || in.ResourceManagementType == types.ResourceManagementTypes[0]) {
			matching = append(matching, s)
		}
	}
	page, next, err := paging.Cut(paging.WithDefault(in.Paging, listedServices), matching, false, func(s *service.Service) string { return s.Name })
	if err != nil {
		return nil, err
	}
	out := &types.ListServicesOutput{ServiceARNs: []string{}, NextToken: next}
	for _, s := range page {
		out.ServiceARNs = append(out.ServiceARNs, r.Render().ServiceARN(s.Cluster, s.Name))
	}
	return out, nil
}

func describeServices(_ context.Context, r *Request, in *types.DescribeServicesInput) (*types.DescribeServicesOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if len(in.Services) == 0 {
		return nil, field.Errorf("services", "Services cannot be empty.")
	}
	if len(in.Services) > maxServices {
		return nil, field.Errorf("services", "services can have at most %d items.", maxServices)
	}
	out := &types.DescribeServicesOutput{Services: []types.Service{}, Failures: []types.Failure{}}
	for _, given := range in.Services {
		name, err := call.ParseInCluster(cluster.Name, arn.Service, given)
		if err != nil {
			return nil, err
		}
		if s := r.View.Service(cluster.Name, name); s != nil && seesService(r, s) {
			out.Services = append(out.Services, r.Services().Service(s, len(in.Include) > 0))
			continue
		}
		out.Failures = append(out.Failures, types.Failure{ARN: r.Render().ServiceARN(cluster.Name, name), Reason: spec.ReasonMissing})
	}
	return out, nil
}
