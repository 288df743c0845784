package ecs

import (
	"context"
	"slices"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

func describeContainerInstances(_ context.Context, r *Request, in *types.DescribeContainerInstancesInput) (*types.DescribeContainerInstancesOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if len(in.ContainerInstances) == 0 {
		return nil, wire.Errorf(wire.Client, "Container Instances cannot be empty.")
	}
	if len(in.ContainerInstances) > paging.Max {
		return nil, field.Errorf("containerInstances", "instanceIds can have at most %d items.", paging.Max)
	}
	out := &types.DescribeContainerInstancesOutput{ContainerInstances: []types.ContainerInstance{}, Failures: []types.Failure{}}
	for _, given := range in.ContainerInstances {
		id, err := call.ParseInCluster(cluster.Name, arn.ContainerInstance, given)
		if err != nil {
			return nil, err
		}
		host := r.View.Host(id)
		if host == nil || host.Cluster != cluster.Name {
			out.Failures = append(out.Failures, types.Failure{ARN: r.Render().InstanceARN(cluster.Name, id), Reason: spec.ReasonMissing})
			continue
		}
		out.ContainerInstances = append(out.ContainerInstances, r.Render().Instance(host, in.Include))
	}
	return out, nil
}

func listContainerInstances(_ context.Context, r *Request, in *types.ListContainerInstancesInput) (*types.ListContainerInstancesOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	selected, err := hostFilter(r, in.Filter)
	if err != nil {
		return nil, err
	}
	hosts := slices.DeleteFunc(slices.Clone(r.View.Hosts(cluster.Name)), func(h *spec.Host) bool {
		return in.Status != "" && in.Status != string(h.Status) || !selected(h)
	})
	page, next, err := paging.Cut(in.Paging, hosts, false, func(h *spec.Host) string { return h.ID })
	if err != nil {
		return nil, err
	}
	out := &types.ListContainerInstancesOutput{ContainerInstanceARNs: []string{}, NextToken: next}
	for _, h := range page {
		out.ContainerInstanceARNs = append(out.ContainerInstanceARNs, r.Render().InstanceARN(cluster.Name, h.ID))
	}
	return out, nil
}

// hostFilter makes the filter of ListContainerInstances from an expression of the cluster query language; an empty one
// selects every host.
func hostFilter(r *Request, filter string) (func(*spec.Host) bool, error) {
	if filter == "" {
		return func(*spec.Host) bool { return true }, nil
	}
	expression, err := query.Parse(filter)
	if err != nil {
		return nil, field.Errorf("filter", "Invalid filter: %v, in %q.", err, filter)
	}
	return func(h *spec.Host) bool {
		facts := query.HostFacts{Host: h, Connected: r.Store.Connected(h.ID)}
		if expression.ReadsTasks() {
			facts.Tasks = r.View.TasksOn(h.ID)
		}
		return expression.Match(facts)
	}, nil
}

var errNoInstance = field.Errorf("containerInstance", "The referenced container instance was not found.")

// findInstance finds the one container instance of the cluster that a request is about.
func findInstance(r *Request, cluster *spec.Cluster, given string) (*spec.Host, error) {
	id, err := call.ParseInCluster(cluster.Name, arn.ContainerInstance, given)
	if err != nil {
		return nil, err
	}
	host := r.View.Host(id)
	if host == nil || host.Cluster != cluster.Name {
		return nil, errNoInstance
	}
	return host, nil
}
