package ecs

import (
	"context"
	"errors"
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm"
)

// HostRemover ends a host's membership of the pool.
type HostRemover interface {
	// RemoveHost forgets a host for ever. raftfsm.ErrInUse while it has tasks, unless force; raftfsm.ErrNotFound.
	RemoveHost(ctx context.Context, id string, force bool) error
}

// maxUpdated is how many instances one UpdateContainerInstancesState may name.
const maxUpdated = 10

type updateInstancesInput struct {
	Cluster   string   `json:"cluster"`
	Instances []string `json:"containerInstances"`
	Status    string   `json:"status"`
}

// updateContainerInstancesState drains hosts, or takes them back. Tasks on a draining host are left alone.
func (c *Call) updateContainerInstancesState(ctx context.Context, in *updateInstancesInput) (*describeInstancesOutput, error) {
	k, err := c.cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{string(raftfsm.HostActive), string(raftfsm.HostDraining)}, in.Status) {
		return nil, wire.Errorf(wire.InvalidParameter, "Container instance status should be one of [ACTIVE,DRAINING]")
	}
	if len(in.Instances) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "Container instances cannot be empty.")
	}
	if len(in.Instances) > maxUpdated {
		return nil, wire.Errorf(wire.InvalidParameter, "instanceIds can have at most %d items.", maxUpdated)
	}
	out := &describeInstancesOutput{Instances: []containerInstance{}, Failures: []failure{}}
	for _, given := range in.Instances {
		id, err := within(k.Name, "container-instance", given)
		if err != nil {
			return nil, err
		}
		host, err := c.setHostStatus(ctx, k.Name, id, raftfsm.HostStatus(in.Status))
		switch {
		case errors.Is(err, raftfsm.ErrNotFound):
			out.Failures = append(out.Failures, failure{ARN: c.instanceARN(k.Name, id), Reason: raftfsm.ReasonMissing})
		case err != nil:
			return nil, err
		default:
			out.Instances = append(out.Instances, c.instance(host, nil))
		}
	}
	return out, nil
}

func (c *Call) setHostStatus(ctx context.Context, cluster, id string, status raftfsm.HostStatus) (*raftfsm.Host, error) {
	if host := c.View.Host(id); host == nil || host.Cluster != cluster {
		return nil, raftfsm.ErrNotFound
	}
	return apply[*raftfsm.Host](ctx, c, raftfsm.SetHostStatus{ID: id, Status: status})
}

type deregisterInstanceInput struct {
	Cluster  string `json:"cluster"`
	Instance string `json:"containerInstance"`
	Force    bool   `json:"force"`
}

type deregisterInstanceOutput struct {
	Instance containerInstance `json:"containerInstance"`
}

// deregisterContainerInstance removes a host from the pool. With force its tasks count as STOPPED at once.
func (c *Call) deregisterContainerInstance(ctx context.Context, in *deregisterInstanceInput) (*deregisterInstanceOutput, error) {
	k, err := c.cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	id, err := within(k.Name, "container-instance", in.Instance)
	if err != nil {
		return nil, err
	}
	host := c.View.Host(id)
	if host == nil || host.Cluster != k.Name {
		return nil, wire.Errorf(wire.InvalidParameter, "The referenced container instance was not found.")
	}
	if c.Hosts == nil {
		return nil, wire.Errorf(wire.Client, "pinion: DeregisterContainerInstance is not supported here: this pinion serves one host, which cannot be removed from itself")
	}
	switch err := c.Hosts.RemoveHost(ctx, id, in.Force); {
	case errors.Is(err, raftfsm.ErrInUse):
		return nil, wire.Errorf(wire.InvalidParameter, "Found running tasks on the instance.")
	case errors.Is(err, raftfsm.ErrNotFound):
		return nil, wire.Errorf(wire.InvalidParameter, "The referenced container instance was not found.")
	case err != nil:
		return nil, err
	}
	gone := c.instance(host, nil)
	gone.Status, gone.AgentConnected = "INACTIVE", false
	return &deregisterInstanceOutput{gone}, nil
}
