package ecs

import (
	"context"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// The operations that look at services and their deployments. They answer from the list of services in view.Renderer, which is
// empty so far, as ECS answers where there is none: clients that look around go on.

// ECS's limits for one request.
const (
	maxServices           = 10
	maxServiceDeployments = 20
)

func listServices(_ context.Context, r *Request, in *types.ListServicesInput) (*types.ListServicesOutput, error) {
	cluster, err := r.cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	return listServiceARNs(in.Paging, r.render().Services(cluster.Name), func(s *types.Service) bool {
		return (in.LaunchType == "" || in.LaunchType == s.LaunchType) &&
			(in.SchedulingStrategy == "" || in.SchedulingStrategy == s.SchedulingStrategy) &&
			(in.ResourceManagementType == "" || in.ResourceManagementType == s.ResourceManagementType)
	})
}

// listServiceARNs is a page of the services that match, in the order of their names.
func listServiceARNs(p types.Paging, services []*types.Service, matches func(*types.Service) bool) (*types.ListServicesOutput, error) {
	out := &types.ListServicesOutput{ServiceARNs: []string{}}
	var matching []*types.Service
	for _, service := range services {
		if matches(service) {
			matching = append(matching, service)
		}
	}
	page, next, err := paginate(p, matching, false, func(s *types.Service) string { return s.ServiceName })
	if err != nil {
		return nil, err
	}
	out.NextToken = next
	for _, service := range page {
		out.ServiceARNs = append(out.ServiceARNs, service.ServiceARN)
	}
	return out, nil
}

func listServicesByNamespace(_ context.Context, _ *Request, in *types.ListServicesByNamespaceInput) (*types.ListServicesByNamespaceOutput, error) {
	if _, err := listServiceARNs(in.Paging, nil, nil); err != nil {
		return nil, err
	}
	return nil, wire.Errorf("NamespaceNotFoundException", "The namespace %s was not found: there is no service discovery here.", in.Namespace)
}

func describeServices(_ context.Context, r *Request, in *types.DescribeServicesInput) (*types.DescribeServicesOutput, error) {
	cluster, err := r.cluster(in.Cluster)
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
		name, err := parseInCluster(cluster.Name, arn.Service, given)
		if err != nil {
			return nil, err
		}
		if service := r.render().Service(cluster.Name, name); service != nil {
			out.Services = append(out.Services, *service)
			continue
		}
		out.Failures = append(out.Failures, types.Failure{ARN: r.render().ServiceARN(cluster.Name, name), Reason: spec.ReasonMissing})
	}
	return out, nil
}

func listServiceDeployments(_ context.Context, r *Request, in *types.ListServiceDeploymentsInput) (*types.ListServiceDeploymentsOutput, error) {
	cluster, err := r.cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(in.Paging, []types.ServiceDeploymentBrief{}, false, func(d types.ServiceDeploymentBrief) string { return d.ServiceDeploymentARN })
	if err != nil {
		return nil, err
	}
	if err := checkService(r, cluster, in.Service); err != nil {
		return nil, err
	}
	return &types.ListServiceDeploymentsOutput{ServiceDeployments: page, NextToken: next}, nil
}

// checkService refuses a service that the cluster does not have.
func checkService(r *Request, cluster *spec.Cluster, given string) error {
	parsed, err := arn.Parse(arn.Service, given)
	if err != nil || r.render().Service(cluster.Name, parsed.Name) == nil {
		return wire.Errorf("ServiceNotFoundException", "Service not found.")
	}
	return nil
}

// groupOf is the group of the tasks of a service, which is given by name or ARN.
func groupOf(service string) string {
	parsed, _ := arn.Parse(arn.Service, service) // checkService has read it
	return serviceGroup + parsed.Name
}

// serviceGroup begins the groups that services give to their tasks.
const serviceGroup = "service:"

func describeServiceDeployments(_ context.Context, _ *Request, in *types.DescribeServiceDeploymentsInput) (*types.DescribeServiceDeploymentsOutput, error) {
	if len(in.ServiceDeploymentARNs) == 0 || len(in.ServiceDeploymentARNs) > maxServiceDeployments {
		return nil, field.Errorf("serviceDeploymentArns", "serviceDeploymentArns must have 1 to %d items, not %d.", maxServiceDeployments, len(in.ServiceDeploymentARNs))
	}
	out := &types.DescribeServiceDeploymentsOutput{ServiceDeployments: []types.ServiceDeployment{}, Failures: []types.Failure{}}
	for _, given := range in.ServiceDeploymentARNs {
		out.Failures = append(out.Failures, types.Failure{ARN: given, Reason: spec.ReasonMissing})
	}
	return out, nil
}
