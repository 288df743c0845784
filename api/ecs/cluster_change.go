package ecs

import (
	"cmp"
	"context"
	"errors"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// clusterInput are the members that CreateCluster and UpdateCluster share.
type clusterInput struct {
	Settings       []spec.Setting             `json:"settings"`
	Configuration  *spec.ClusterConfiguration `json:"configuration"`          // without effect
	ServiceConnect *serviceConnectDefaults    `json:"serviceConnectDefaults"` // the same
}

type serviceConnectDefaults struct {
	Namespace string `json:"namespace"`
}

type createClusterInput struct {
	clusterInput
	ClusterName       string         `json:"clusterName"`
	Tags              []spec.Tag     `json:"tags"`
	CapacityProviders []string       `json:"capacityProviders"`
	DefaultStrategy   []strategyItem `json:"defaultCapacityProviderStrategy"`
}

// createCluster answers with the cluster of that name as it is when there is one already, as ECS does.
func (c *Request) createCluster(ctx context.Context, in *createClusterInput) (*clusterOutput, error) {
	name := cmp.Or(in.ClusterName, spec.DefaultCluster)
	if !resourceName.MatchString(name) {
		return nil, wire.Errorf(wire.InvalidParameter, "clusterName must be 1 to 255 letters, digits, hyphens and underscores, not %q", name)
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	k := spec.Cluster{
		Name: name, Status: spec.ClusterActive, Tags: in.Tags, Settings: in.Settings, Configuration: in.Configuration, CreatedAt: c.Now(),
	}
	if len(k.Settings) == 0 {
		k.Settings = c.defaultClusterSettings()
	}
	if in.ServiceConnect != nil {
		k.Namespace = in.ServiceConnect.Namespace
	}
	var err error
	if k.CapacityProviders, k.DefaultStrategy, err = c.parseClusterProviders(in.CapacityProviders, in.DefaultStrategy); err != nil {
		return nil, err
	}
	made, err := apply[*spec.Cluster](ctx, c, raftfsm.CreateCluster{Cluster: k})
	if err != nil {
		return nil, err
	}
	return c.clusterResult(made), nil
}

// defaultClusterSettings are the settings of a new cluster that names none: what the account setting says, if somebody chose one.
func (c *Request) defaultClusterSettings() []spec.Setting {
	value := c.effectiveSetting(c.Principal, containerInsights)
	if value == containerInsights.values[0] {
		return nil
	}
	return []spec.Setting{{Name: containerInsights.name, Value: value}}
}

type updateClusterInput struct {
	clusterInput
	Cluster string `json:"cluster"`
}

func (c *Request) updateCluster(ctx context.Context, in *updateClusterInput) (*clusterOutput, error) {
	k, err := c.requireCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	change := raftfsm.UpdateCluster{Name: k.Name, Settings: in.Settings, Configuration: in.Configuration}
	if in.ServiceConnect != nil {
		change.Namespace = &in.ServiceConnect.Namespace
	}
	return c.applyClusterUpdate(ctx, change)
}

type updateClusterSettingsInput struct {
	Cluster  string         `json:"cluster"`
	Settings []spec.Setting `json:"settings"`
}

func (c *Request) updateClusterSettings(ctx context.Context, in *updateClusterSettingsInput) (*clusterOutput, error) {
	k, err := c.requireCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if len(in.Settings) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "settings cannot be empty.")
	}
	if err := checkSettings(in.Settings); err != nil {
		return nil, err
	}
	return c.applyClusterUpdate(ctx, raftfsm.UpdateCluster{Name: k.Name, Settings: in.Settings})
}

func (c *Request) applyClusterUpdate(ctx context.Context, change raftfsm.UpdateCluster) (*clusterOutput, error) {
	k, err := apply[*spec.Cluster](ctx, c, change)
	if errors.Is(err, spec.ErrNotFound) || errors.Is(err, spec.ErrInactive) {
		return nil, errNoCluster
	}
	if err != nil {
		return nil, err
	}
	return c.clusterResult(k), nil
}

type deleteClusterInput struct {
	Cluster string `json:"cluster"`
}

// deleteClusterErrors are ECS's words for why a cluster is not deleted. Clients look for them: Terraform tries again.
var deleteClusterErrors = []struct {
	err     error
	refusal *wire.Error
}{
	{spec.ErrNotFound, errNoCluster},
	{spec.ErrClusterHasTasks, wire.Errorf("ClusterContainsTasksException", "The Cluster cannot be deleted while Tasks are active.")},
	{spec.ErrClusterHasHosts, wire.Errorf("ClusterContainsContainerInstancesException", "The Cluster cannot be deleted while Container Instances are active or draining.")},
	{spec.ErrDefaultCluster, wire.Errorf(wire.Client, "The cluster default cannot be deleted: requests and hosts that name no cluster mean it.")},
}

// deleteCluster may come twice: a cluster that was deleted is answered as it is.
func (c *Request) deleteCluster(ctx context.Context, in *deleteClusterInput) (*clusterOutput, error) {
	if in.Cluster == "" {
		return nil, errBlankCluster
	}
	r, err := parseResource("cluster", in.Cluster)
	if err != nil {
		return nil, err
	}
	k, err := apply[*spec.Cluster](ctx, c, raftfsm.DeleteCluster{Name: r.name, At: c.Now()})
	for _, known := range deleteClusterErrors {
		if errors.Is(err, known.err) {
			return nil, known.refusal
		}
	}
	if err != nil {
		return nil, err
	}
	return c.clusterResult(k), nil
}

// clusterResult is the answer of an operation that changed a cluster: all of it, but for the statistics.
func (c *Request) clusterResult(k *spec.Cluster) *clusterOutput {
	return &clusterOutput{c.renderCluster(k, []string{"CONFIGURATIONS", "SETTINGS", "TAGS"})}
}
