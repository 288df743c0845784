package ecs

import (
	"cmp"
	"context"
	"errors"

	"pinion/api/ecs/account"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/capacity"
	"pinion/api/ecs/field"
	"pinion/api/ecs/tags"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/gpufault"
	"pinion/raftfsm/imagepolicy"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// createCluster is idempotent, as on ECS: an existing cluster is answered as it is.
func createCluster(ctx context.Context, r *Request, in *types.CreateClusterInput) (*types.CreateClusterOutput, error) {
	name := cmp.Or(in.ClusterName, spec.DefaultCluster)
	if !spec.ValidName(name) {
		return nil, field.Errorf("clusterName", "clusterName must be 1 to 255 letters, digits, hyphens and underscores, not %q", name)
	}
	if err := tags.Check(in.Tags); err != nil {
		return nil, err
	}
	if err := checkClusterSettings(in.Settings); err != nil {
		return nil, err
	}
	if err := checkNamespace(r, name, in.ServiceConnectDefaults); err != nil {
		return nil, err
	}
	configuration, err := parseClusterConfiguration(in.Configuration)
	if err != nil {
		return nil, err
	}
	cluster := spec.Cluster{
		Name: name, Status: spec.ClusterActive, Tags: in.Tags, Settings: in.Settings, Configuration: configuration, CreatedAt: r.Now(),
	}
	if len(cluster.Settings) == 0 {
		cluster.Settings = defaultClusterSettings(r)
	}
	if in.ServiceConnectDefaults != nil {
		cluster.Namespace = in.ServiceConnectDefaults.Namespace
	}
	if cluster.CapacityProviders, cluster.DefaultStrategy, err = capacity.ParseProviders(r, in.CapacityProviders, in.DefaultCapacityProviderStrategy); err != nil {
		return nil, err
	}
	created, err := call.Apply[*spec.Cluster](ctx, r, raftfsm.CreateCluster{Cluster: cluster})
	if err != nil {
		return nil, err
	}
	return &types.CreateClusterOutput{Cluster: r.ChangedCluster(created)}, nil
}

// defaultClusterSettings are the settings of a new cluster that names none: the account setting, if somebody chose one.
func defaultClusterSettings(r *Request) []spec.Setting {
	value := account.ContainerInsights(r)
	if value == account.ContainerInsightsValues[0] {
		return nil
	}
	return []spec.Setting{{Name: view.ContainerInsights, Value: value}}
}

func updateCluster(ctx context.Context, r *Request, in *types.UpdateClusterInput) (*types.UpdateClusterOutput, error) {
	cluster, err := r.NamedCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := checkClusterSettings(in.Settings); err != nil {
		return nil, err
	}
	configuration, err := parseClusterConfiguration(in.Configuration)
	if err != nil {
		return nil, err
	}
	change := raftfsm.UpdateCluster{Name: cluster.Name, Settings: in.Settings, Configuration: configuration}
	if in.ServiceConnectDefaults != nil {
		if err := checkNamespace(r, cluster.Name, in.ServiceConnectDefaults); err != nil {
			return nil, err
		}
		change.Namespace = &in.ServiceConnectDefaults.Namespace
	}
	updated, err := applyClusterUpdate(ctx, r, change)
	return &types.UpdateClusterOutput{Cluster: updated}, err
}

func updateClusterSettings(ctx context.Context, r *Request, in *types.UpdateClusterSettingsInput) (*types.UpdateClusterSettingsOutput, error) {
	cluster, err := r.NamedCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if len(in.Settings) == 0 {
		return nil, field.Errorf("settings", "settings cannot be empty.")
	}
	if err := checkClusterSettings(in.Settings); err != nil {
		return nil, err
	}
	updated, err := applyClusterUpdate(ctx, r, raftfsm.UpdateCluster{Name: cluster.Name, Settings: in.Settings})
	return &types.UpdateClusterSettingsOutput{Cluster: updated}, err
}

func applyClusterUpdate(ctx context.Context, r *Request, change raftfsm.UpdateCluster) (types.Cluster, error) {
	if err := checkProtections(r, change); err != nil {
		return types.Cluster{}, err
	}
	cluster, err := call.Apply[*spec.Cluster](ctx, r, change)
	if errors.Is(err, spec.ErrNotFound) || errors.Is(err, spec.ErrInactive) {
		return types.Cluster{}, call.ErrNoCluster
	}
	if err != nil {
		return types.Cluster{}, err
	}
	return r.ChangedCluster(cluster), nil
}

// deleteClusterErrors are the errors of DeleteCluster in ECS's words. Terraform matches them and tries again.
var deleteClusterErrors = []struct {
	err     error
	refusal *wire.Error
}{
	{spec.ErrNotFound, call.ErrNoCluster},
	{service.ErrHasServices, wire.Errorf("ClusterContainsServicesException", "The Cluster cannot be deleted while Services are active.")},
	{spec.ErrClusterHasTasks, wire.Errorf("ClusterContainsTasksException", "The Cluster cannot be deleted while Tasks are active.")},
	{spec.ErrClusterHasHosts, wire.Errorf("ClusterContainsContainerInstancesException", "The Cluster cannot be deleted while Container Instances are active or draining.")},
	{spec.ErrDefaultCluster, wire.Errorf(wire.Client, "The cluster default cannot be deleted: requests and hosts that name no cluster mean it.")},
}

// deleteCluster is idempotent: a deleted cluster is answered as it is.
func deleteCluster(ctx context.Context, r *Request, in *types.DeleteClusterInput) (*types.DeleteClusterOutput, error) {
	if in.Cluster == "" {
		return nil, call.ErrBlankCluster
	}
	parsed, err := arn.Parse(arn.Cluster, in.Cluster)
	if err != nil {
		return nil, err
	}
	cluster, err := call.Apply[*spec.Cluster](ctx, r, raftfsm.DeleteCluster{Name: parsed.Name, At: r.Now()})
	for _, known := range deleteClusterErrors {
		if errors.Is(err, known.err) {
			return nil, known.refusal
		}
	}
	if err != nil {
		return nil, err
	}
	return &types.DeleteClusterOutput{Cluster: r.ChangedCluster(cluster)}, nil
}

// parseClusterConfiguration checks a configuration by ECS's rules. Empty members count as absent: some clients send them.
func parseClusterConfiguration(in *spec.ClusterConfiguration) (*spec.ClusterConfiguration, error) {
	if in == nil {
		return nil, nil
	}
	if exec := in.ExecuteCommand; exec != nil {
		if err := checkExecuteCommand(exec); err != nil {
			return nil, err
		}
		if *exec == (spec.ExecuteCommandConfiguration{}) {
			in.ExecuteCommand = nil
		}
	}
	if storage := in.ManagedStorage; storage != nil && *storage == (spec.ManagedStorageConfiguration{}) {
		in.ManagedStorage = nil
	}
	if *in == (spec.ClusterConfiguration{}) {
		return nil, nil
	}
	return in, nil
}

func checkExecuteCommand(exec *spec.ExecuteCommandConfiguration) error {
	const path = "configuration.executeCommandConfiguration"
	if err := field.OneOf(path+".logging", exec.Logging, types.ExecuteCommandLoggings...); err != nil {
		return err
	}
	if exec.Log != nil && *exec.Log == (spec.ExecuteCommandLogTarget{}) {
		exec.Log = nil
	}
	if (exec.Logging == "OVERRIDE") != (exec.Log != nil) {
		return field.Errorf(path+".logConfiguration", path+".logConfiguration goes with logging OVERRIDE: give both or neither.")
	}
	return nil
}

// checkProtections refuses to take away what protects hosts from the tasks of a cluster, when the caller's key is for some clusters: that is
// not theirs to decide who only use them.
func checkProtections(r *Request, change raftfsm.UpdateCluster) error {
	known := r.View.Cluster(change.Name)
	if r.KeyClusters == "" || known == nil {
		return nil
	}
	had := known.Rules()
	for _, s := range change.Settings {
		loosens := s.Name == spec.SettingUserNamespaces && had.UserNamespaces && s.Value != spec.UserNamespaceSettings[1]
		other := s.Name == spec.SettingAllowedImages && had.AllowedImages.Restricts() && s.Value != string(had.AllowedImages)
		if loosens || other {
			return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v alone, and the setting %s protects hosts from the tasks of the cluster. A key for all clusters can change it.", r.Principal, r.KeyClusters.Set(), s.Name)
		}
	}
	return nil
}

// clusterSettings are the values of each setting of a cluster: ECS's, and those of Pinion.
var clusterSettings = map[string][]string{
	view.ContainerInsights:          account.ContainerInsightsValues,
	spec.SettingUserNamespaces:      spec.UserNamespaceSettings,
	gpufault.Setting:                gpufault.Policies,
	spec.SettingTagsWithoutRegistry: spec.TagsWithoutRegistrySettings,
}

func checkClusterSettings(settings []spec.Setting) error {
	for i, s := range settings {
		path := field.Index("settings", i)
		if s.Name == "" {
			return field.Errorf(path+".name", "settings.name must not be empty")
		}
		if s.Name == spec.SettingAllowedImages {
			if err := imagepolicy.Policy(s.Value).Check(); err != nil {
				return field.Errorf(path+".value", "settings.value of %s: %v", s.Name, err)
			}
			continue
		}
		values, known := clusterSettings[s.Name]
		if !known {
			return field.Errorf(path+".name", "settings.name must be one of %s, %s, %s, %s, %s, not %q", view.ContainerInsights, spec.SettingUserNamespaces, spec.SettingAllowedImages, gpufault.Setting, spec.SettingTagsWithoutRegistry, s.Name)
		}
		if err := field.Choice(path+".value", "settings.value of "+s.Name, s.Value, values...); err != nil {
			return err
		}
	}
	return nil
}
