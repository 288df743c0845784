package ecs

import (
	"context"
	"maps"
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// containerInstance is ECS's ContainerInstance: a host.
type containerInstance struct {
	ARN            string           `json:"containerInstanceArn"`
	MachineID      string           `json:"ec2InstanceId,omitempty"` // the host's name: there is no EC2 here
	Version        int64            `json:"version"`
	VersionInfo    versionInfo      `json:"versionInfo"`
	Remaining      []resourceAmount `json:"remainingResources"`
	Registered     []resourceAmount `json:"registeredResources"`
	Status         string           `json:"status"`
	AgentConnected bool             `json:"agentConnected"`
	Running        int              `json:"runningTasksCount"`
	Pending        int              `json:"pendingTasksCount"`
	Attributes     []spec.Attribute `json:"attributes"`
	RegisteredAt   wire.Time        `json:"registeredAt,omitzero"`
	Attachments    []struct{}       `json:"attachments"`
	Tags           []spec.Tag       `json:"tags"`
	Health         *instanceHealth  `json:"healthStatus,omitempty"`
}

type versionInfo struct {
	AgentVersion string `json:"agentVersion,omitempty"`
}

type describeInstancesInput struct {
	Cluster   string   `json:"cluster"`
	Instances []string `json:"containerInstances"`
	Include   []string `json:"include"`
}

type describeInstancesOutput struct {
	Instances []containerInstance `json:"containerInstances"`
	Failures  []failure           `json:"failures"`
}

func (c *Request) describeContainerInstances(_ context.Context, in *describeInstancesInput) (*describeInstancesOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := allInEnum("include", in.Include, "TAGS", "CONTAINER_INSTANCE_HEALTH"); err != nil {
		return nil, err
	}
	if len(in.Instances) == 0 {
		return nil, wire.Errorf(wire.Client, "Container Instances cannot be empty.")
	}
	if len(in.Instances) > maxPage {
		return nil, wire.Errorf(wire.InvalidParameter, "instanceIds can have at most %d items.", maxPage)
	}
	out := &describeInstancesOutput{Instances: []containerInstance{}, Failures: []failure{}}
	for _, given := range in.Instances {
		id, err := parseInCluster(k.Name, "container-instance", given)
		if err != nil {
			return nil, err
		}
		host := c.View.Host(id)
		if host == nil || host.Cluster != k.Name {
			out.Failures = append(out.Failures, failure{ARN: c.instanceARN(k.Name, id), Reason: spec.ReasonMissing})
			continue
		}
		out.Instances = append(out.Instances, c.renderInstance(host, in.Include))
	}
	return out, nil
}

func (c *Request) renderInstance(h *spec.Host, include []string) containerInstance {
	count := countTasks(c.View.TasksOn(h.ID))
	connected := c.Store.Connected(h.ID)
	out := containerInstance{
		ARN: c.instanceARN(h.Cluster, h.ID), MachineID: h.Name, Version: h.Revision, VersionInfo: versionInfo{h.Version},
		Remaining: remainingResources(h, c.View.Free(h.ID)), Registered: registeredResources(h), Status: string(h.Status),
		AgentConnected: connected, Running: count.running(), Pending: count.pending(),
		Attributes: renderAttributes(h), RegisteredAt: wire.NewTime(h.RegisteredAt), Attachments: []struct{}{}, Tags: []spec.Tag{},
	}
	if slices.Contains(include, "TAGS") {
		out.Tags = nonNil(h.Tags)
	}
	if slices.Contains(include, "CONTAINER_INSTANCE_HEALTH") {
		out.Health = c.renderHealth(h, connected)
	}
	return out
}

func renderAttributes(h *spec.Host) []spec.Attribute {
	attributes := []spec.Attribute{}
	all := h.AllAttributes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		attributes = append(attributes, spec.Attribute{Name: name, Value: all[name]})
	}
	return attributes
}

type listInstancesInput struct {
	paging
	Cluster string `json:"cluster"`
	Filter  string `json:"filter"` // an expression of the cluster query language
	Status  string `json:"status"`
}

type listInstancesOutput struct {
	ARNs      []string `json:"containerInstanceArns"`
	NextToken string   `json:"nextToken,omitempty"`
}

func (c *Request) listContainerInstances(_ context.Context, in *listInstancesInput) (*listInstancesOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := inEnum("status", in.Status, "ACTIVE", "DRAINING", "REGISTERING", "DEREGISTERING", "REGISTRATION_FAILED"); err != nil {
		return nil, err
	}
	selected, err := c.hostFilter(in.Filter)
	if err != nil {
		return nil, err
	}
	hosts := slices.DeleteFunc(slices.Clone(c.View.Hosts(k.Name)), func(h *spec.Host) bool {
		return in.Status != "" && in.Status != string(h.Status) || !selected(h)
	})
	page, next, err := paginate(in.paging, hosts, false, func(h *spec.Host) string { return h.ID })
	if err != nil {
		return nil, err
	}
	out := &listInstancesOutput{ARNs: []string{}, NextToken: next}
	for _, h := range page {
		out.ARNs = append(out.ARNs, c.instanceARN(k.Name, h.ID))
	}
	return out, nil
}
