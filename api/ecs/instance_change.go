package ecs

import (
	"context"
	"errors"
	"time"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// maxUpdatedInstances is how many instances one UpdateContainerInstancesState may name.
const maxUpdatedInstances = 10

// updateContainerInstancesState drains hosts, or makes them active again. Tasks on a draining host are left alone.
func updateContainerInstancesState(ctx context.Context, r *Request, in *types.UpdateContainerInstancesStateInput) (*types.UpdateContainerInstancesStateOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if len(in.ContainerInstances) == 0 {
		return nil, field.Errorf("containerInstances", "Container instances cannot be empty.")
	}
	if len(in.ContainerInstances) > maxUpdatedInstances {
		return nil, field.Errorf("containerInstances", "instanceIds can have at most %d items.", maxUpdatedInstances)
	}
	drain, err := drainOf(r, in)
	if err != nil {
		return nil, err
	}
	out := &types.UpdateContainerInstancesStateOutput{ContainerInstances: []types.ContainerInstance{}, Failures: []types.Failure{}}
	for _, given := range in.ContainerInstances {
		id, err := call.ParseInCluster(cluster.Name, arn.ContainerInstance, given)
		if err != nil {
			return nil, err
		}
		if r.OnlyHost != "" && id != r.OnlyHost {
			return nil, wire.Errorf(wire.AccessDenied, "%s may not do this: it is the own key of host %s, and may change that host alone.", r.Principal, r.OnlyHost)
		}
		host, err := setHostStatus(ctx, r, cluster.Name, id, spec.HostStatus(in.Status), drain)
		switch {
		case errors.Is(err, spec.ErrNotFound):
			out.Failures = append(out.Failures, types.Failure{ARN: r.Render().InstanceARN(cluster.Name, id), Reason: spec.ReasonMissing})
		case err != nil:
			return nil, err
		default:
			out.ContainerInstances = append(out.ContainerInstances, r.Render().Instance(host, nil))
		}
	}
	return out, nil
}

// maxDeadline is how far ahead the deadline of a drain may lie.
const maxDeadline = 30 * 24 * time.Hour

// drainOf is what becomes of the tasks of the hosts; nil: they end by themselves.
func drainOf(r *Request, in *types.UpdateContainerInstancesStateInput) (*spec.HostDrain, error) {
	after := time.Duration(in.DeadlineSeconds) * time.Second
	switch {
	case !in.StopTasks && in.DeadlineSeconds != 0:
		return nil, field.Errorf("deadlineSeconds", "deadlineSeconds goes with stopTasks.")
	case !in.StopTasks:
		return nil, nil
	case in.Status != string(spec.HostDraining):
		return nil, field.Errorf("stopTasks", "stopTasks goes with the status %s.", spec.HostDraining)
	case in.DeadlineSeconds < 0 || in.DeadlineSeconds > int(maxDeadline.Seconds()):
		return nil, field.Errorf("deadlineSeconds", "deadlineSeconds must be from 0 to %.0f, not %d.", maxDeadline.Seconds(), in.DeadlineSeconds)
	}
	return &spec.HostDrain{At: r.Now().Add(after), After: after, Kill: after > 0}, nil
}

func setHostStatus(ctx context.Context, r *Request, cluster, id string, status spec.HostStatus, drain *spec.HostDrain) (*spec.Host, error) {
	if host := r.View.Host(id); host == nil || host.Cluster != cluster {
		return nil, spec.ErrNotFound
	}
	return call.Apply[*spec.Host](ctx, r, raftfsm.SetHostStatus{ID: id, Status: status, Drain: drain})
}

// deregisterContainerInstance removes a host from the pool. With force its tasks count as STOPPED at once. A server serves all clusters, so a
// key for some of them does not remove one.
func deregisterContainerInstance(ctx context.Context, r *Request, in *types.DeregisterContainerInstanceInput) (*types.DeregisterContainerInstanceOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	host, err := findInstance(r, cluster, in.ContainerInstance)
	if err != nil {
		return nil, err
	}
	if host.Server && r.KeyClusters != "" {
		return nil, wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v alone, and %s is one of the pool's servers, which serve all clusters. A key made without --cluster may.", r.Principal, r.KeyClusters.Set(), host.Name)
	}
	if r.Hosts == nil {
		return nil, wire.Errorf(wire.Client, "pinion: DeregisterContainerInstance is not supported here: this pinion serves one host, which cannot be removed from itself")
	}
	switch err := r.Hosts.RemoveHost(ctx, host.ID, in.Force); {
	case errors.Is(err, spec.ErrInUse):
		return nil, field.Errorf("containerInstance", "Found running tasks on the instance.")
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoInstance
	case err != nil:
		return nil, err
	}
	removed := r.Render().Instance(host, nil)
	removed.Status, removed.AgentConnected = view.InstanceInactive, false
	return &types.DeregisterContainerInstanceOutput{ContainerInstance: removed}, nil
}

// registerContainerInstance always refuses. On ECS it is the agent's own call, made by no client; here hosts join with
// their certificates.
func registerContainerInstance(_ context.Context, r *Request, in *types.RegisterContainerInstanceInput) (*types.RegisterContainerInstanceOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	return nil, wire.Errorf(wire.Client, "Container instances register themselves: run `pinion up --cluster %s` on the machine, with --join and a token of `pinion token` if it belongs to a pool already.", cluster.Name)
}

// updateContainerAgent never finds a newer agent: the agent is a part of pinion, and the host's own packages update that.
func updateContainerAgent(_ context.Context, r *Request, in *types.UpdateContainerAgentInput) (*types.UpdateContainerAgentOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	host, err := findInstance(r, cluster, in.ContainerInstance)
	if err != nil {
		return nil, err
	}
	return nil, wire.Errorf("NoUpdateAvailableException", "There is no update available for this container agent: %s runs pinion %s. Update pinion on the host itself.", host.Name, host.Version)
}
