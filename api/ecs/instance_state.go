package ecs

import (
	"context"
	"errors"
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// HostRemover ends a host's membership of the pool.
type HostRemover interface {
	// RemoveHost forgets a host for ever. raftfsm.ErrInUse while it has tasks, unless force; raftfsm.ErrNotFound.
	RemoveHost(ctx context.Context, id string, force bool) error
}

// maxUpdatedInstances is how many instances one UpdateContainerInstancesState may name.
const maxUpdatedInstances = 10

type updateInstancesInput struct {
	Cluster   string   `json:"cluster"`
	Instances []string `json:"containerInstances"`
	Status    string   `json:"status"`
}

// updateContainerInstancesState drains hosts, or takes them back. Tasks on a draining host are left alone.
func (c *Request) updateContainerInstancesState(ctx context.Context, in *updateInstancesInput) (*describeInstancesOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{string(spec.HostActive), string(spec.HostDraining)}, in.Status) {
		return nil, wire.Errorf(wire.InvalidParameter, "Container instance status should be one of [ACTIVE,DRAINING]")
	}
	if len(in.Instances) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "Container instances cannot be empty.")
	}
	if len(in.Instances) > maxUpdatedInstances {
		return nil, wire.Errorf(wire.InvalidParameter, "instanceIds can have at most %d items.", maxUpdatedInstances)
	}
	out := &describeInstancesOutput{Instances: []containerInstance{}, Failures: []failure{}}
	for _, given := range in.Instances {
		id, err := parseInCluster(k.Name, "container-instance", given)
		if err != nil {
			return nil, err
		}
		host, err := c.setHostStatus(ctx, k.Name, id, spec.HostStatus(in.Status))
		switch {
		case errors.Is(err, spec.ErrNotFound):
			out.Failures = append(out.Failures, failure{ARN: c.instanceARN(k.Name, id), Reason: spec.ReasonMissing})
		case err != nil:
			return nil, err
		default:
			out.Instances = append(out.Instances, c.renderInstance(host, nil))
		}
	}
	return out, nil
}

func (c *Request) setHostStatus(ctx context.Context, cluster, id string, status spec.HostStatus) (*spec.Host, error) {
	if host := c.View.Host(id); host == nil || host.Cluster != cluster {
		return nil, spec.ErrNotFound
	}
	return apply[*spec.Host](ctx, c, raftfsm.SetHostStatus{ID: id, Status: status})
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
func (c *Request) deregisterContainerInstance(ctx context.Context, in *deregisterInstanceInput) (*deregisterInstanceOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	host, err := c.findInstance(k, in.Instance)
	if err != nil {
		return nil, err
	}
	if c.Hosts == nil {
		return nil, wire.Errorf(wire.Client, "pinion: DeregisterContainerInstance is not supported here: this pinion serves one host, which cannot be removed from itself")
	}
	switch err := c.Hosts.RemoveHost(ctx, host.ID, in.Force); {
	case errors.Is(err, spec.ErrInUse):
		return nil, wire.Errorf(wire.InvalidParameter, "Found running tasks on the instance.")
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoInstance
	case err != nil:
		return nil, err
	}
	gone := c.renderInstance(host, nil)
	gone.Status, gone.AgentConnected = "INACTIVE", false
	return &deregisterInstanceOutput{gone}, nil
}

var errNoInstance = wire.Errorf(wire.InvalidParameter, "The referenced container instance was not found.")

// findInstance finds the one container instance of the cluster that a request is about.
func (c *Request) findInstance(k *spec.Cluster, given string) (*spec.Host, error) {
	id, err := parseInCluster(k.Name, "container-instance", given)
	if err != nil {
		return nil, err
	}
	host := c.View.Host(id)
	if host == nil || host.Cluster != k.Name {
		return nil, errNoInstance
	}
	return host, nil
}

// registerInstanceInput is read for nothing but the cluster: what an agent says of its machine, a host tells by itself.
type registerInstanceInput struct {
	Cluster           string `json:"cluster"`
	InstanceARN       any    `json:"containerInstanceArn"`
	Identity          any    `json:"instanceIdentityDocument"`
	IdentitySignature any    `json:"instanceIdentityDocumentSignature"`
	Attributes        any    `json:"attributes"`
	Devices           any    `json:"platformDevices"`
	Resources         any    `json:"totalResources"`
	Tags              any    `json:"tags"`
	VersionInfo       any    `json:"versionInfo"`
}

// registerContainerInstance always refuses. On ECS it is the agent's own call, made by no client; here hosts join with
// their certificates.
func (c *Request) registerContainerInstance(_ context.Context, in *registerInstanceInput) (*deregisterInstanceOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	return nil, wire.Errorf(wire.Client, "Container instances register themselves: run `pinion up --cluster %s` on the machine, with --join and a token of `pinion token` if it belongs to a pool already.", k.Name)
}

type updateAgentInput struct {
	Cluster  string `json:"cluster"`
	Instance string `json:"containerInstance"`
}

// updateContainerAgent never finds a newer agent: the agent is a part of pinion, and the host's own packages update that.
func (c *Request) updateContainerAgent(_ context.Context, in *updateAgentInput) (*deregisterInstanceOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	host, err := c.findInstance(k, in.Instance)
	if err != nil {
		return nil, err
	}
	return nil, wire.Errorf("NoUpdateAvailableException", "There is no update available for this container agent: %s runs pinion %s. Update pinion on the host itself.", host.Name, host.Version)
}
