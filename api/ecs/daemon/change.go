package daemon

import (
	"cmp"
	"context"
	"errors"

	"pinion/api/auth"
	"pinion/api/ecs/call"
	"pinion/api/ecs/capacity"
	"pinion/api/ecs/field"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// settings are the members by which CreateDaemon and UpdateDaemon say how a daemon is run.
type settings struct {
	definition    string
	providers     []string
	critical      *bool
	deployment    *types.DaemonDeploymentConfigurationInput
	propagateTags string
	managedTags   *bool
	exec          *bool // enableExecuteCommand
}

// change checks the members, sets them in a daemon that is the caller's own copy, and makes the deployment that they begin.
func (in settings) change(r *call.Request, cluster *spec.Cluster, s *service.Service) (*service.Revision, *service.Rollout, error) {
	definition, err := activeDefinition(r, in.definition)
	if err != nil {
		return nil, nil, err
	}
	to := &s.Settings
	if to.Providers, err = provider(cluster, in.providers); err != nil {
		return nil, nil, err
	}
	if to.Deployment, err = servicedef.ParseDaemonDeployment(in.deployment, to.Deployment); err != nil {
		return nil, nil, err
	}
	if *to, err = servicedef.ParseDaemonTags(in.propagateTags, in.managedTags, *to); err != nil {
		return nil, nil, err
	}
	if in.exec != nil {
		to.ExecuteCommand = *in.exec
	}
	revision, rollout := call.NewDeployment(r, s, definition, "")
	revision.Tagging = &service.Tagging{Propagate: to.PropagateTags, Managed: to.ManagedTags}
	revision.ExecuteCommand = to.ExecuteCommand
	if revision.Critical, err = in.isCritical(r, s); err != nil {
		return nil, nil, err
	}
	return revision, rollout, call.CheckPrivileges(r, s, definition)
}

// isCritical is what the members say, or else what the daemon was before; a new one is critical, as on ECS. Who makes a daemon critical has the tasks of
// others stop, as who drains hosts.
func (in settings) isCritical(r *call.Request, s *service.Service) (critical bool, err error) {
	switch critical = true; {
	case in.critical != nil:
		critical = *in.critical
	case len(s.Deployments) > 0:
		critical = r.View.ServiceRevision(s.Primary().ID).IsCritical()
	}
	if critical && !r.Role.May(accesskey.RoleAdmin) {
		return false, wire.Errorf(wire.AccessDenied, "%s may not do this: hosts take no tasks without a critical daemon, which a daemon is unless critical is false, and tasks of others stop when it fails. Use a key of the role admin, or set critical to false.", r.Principal)
	}
	return critical, nil
}

// checkCritical refuses to change or end a critical daemon to those who may not make one: hosts would take tasks without what an administrator wants there.
func checkCritical(r *call.Request, s *service.Service) error {
	if len(s.Deployments) > 0 && r.View.ServiceRevision(s.Primary().ID).IsCritical() && !r.Role.May(accesskey.RoleAdmin) {
		return wire.Errorf(wire.AccessDenied, "%s may not do this: the daemon %s is critical, and its hosts are not to run tasks without it. Use a key of the role admin.", r.Principal, s.Title())
	}
	return nil
}

// provider is the one capacity provider of a daemon, in which its tasks wait.
func provider(cluster *spec.Cluster, given []string) ([]spec.CapacityProviderStrategyItem, error) {
	const path = "capacityProviderArns"
	switch {
	case len(given) == 0:
		return nil, field.Errorf(path, "capacityProviderArns must name a capacity provider of the cluster; %s is one of each.", spec.BuiltinCapacityProvider)
	case len(given) > 1:
		return nil, field.Errorf(path, "capacityProviderArns can name one capacity provider, not %d: each is a queue in front of all hosts of the cluster.", len(given))
	}
	items := []types.StrategyItem{{CapacityProvider: given[0], Weight: 1}}
	return capacity.ParseStrategy(path, items, func(name string) bool { return capacity.UsableIn(cluster, name) })
}

// Create makes a daemon, and its first deployment.
func Create(ctx context.Context, r *call.Request, in *types.CreateDaemonInput) (*types.CreateDaemonOutput, error) {
	cluster, err := r.Cluster(in.ClusterARN)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(servicedef.CheckDaemonName(in.DaemonName), servicedef.CheckClientToken(in.ClientToken), servicedef.CheckTags(in.Tags)); err != nil {
		return nil, err
	}
	s := call.NewService(r, cluster.Name, spec.DaemonPrefix+in.DaemonName)
	s.Strategy, s.Settings.Deployment = service.Daemon, servicedef.NewDaemonDeployment()
	if s.Tags, err = call.ServiceTags(r, in.Tags); err != nil {
		return nil, err
	}
	given := settings{in.DaemonTaskDefinitionARN, in.CapacityProviderARNs, in.Critical, in.DeploymentConfiguration, in.PropagateTags, in.EnableECSManagedTags, in.EnableExecuteCommand}
	revision, rollout, err := given.change(r, cluster, &s)
	if err != nil {
		return nil, err
	}
	created, err := call.Apply[*service.Service](ctx, r, raftfsm.CreateService{Service: s, Revision: *revision, Rollout: *rollout})
	switch {
	case errors.Is(err, spec.ErrInUse):
		return nil, field.Errorf("daemonName", "The cluster %s has a daemon %s, or one of that name is still being deleted.", cluster.Name, in.DaemonName)
	case errors.Is(err, service.ErrTooMany):
		return nil, field.Errorf("daemonName", "The maximum number of services and daemons has been reached: a cluster can have %d.", service.MaxServices)
	case err != nil:
		return nil, err
	}
	d := r.Services().Daemon(created)
	return &types.CreateDaemonOutput{DaemonARN: d.DaemonARN, Status: d.Status, CreatedAt: d.CreatedAt, DeploymentARN: d.DeploymentARN}, nil
}

// Update changes a daemon: each update is a deployment. Updates at the same time are made one after another.
func Update(ctx context.Context, r *call.Request, in *types.UpdateDaemonInput) (*types.UpdateDaemonOutput, error) {
	return call.RetryOn(ctx, r, service.ErrChanged, func() (*types.UpdateDaemonOutput, error) { return updateOnce(ctx, r, in) })
}

func updateOnce(ctx context.Context, r *call.Request, in *types.UpdateDaemonInput) (*types.UpdateDaemonOutput, error) {
	known, cluster, err := findActive(r, in.DaemonARN)
	if err != nil {
		return nil, err
	}
	if _, err := call.ServiceTags(r, known.Tags); err != nil {
		return nil, err
	}
	if err := checkCritical(r, known); err != nil {
		return nil, err
	}
	after := *known
	given := settings{in.DaemonTaskDefinitionARN, in.CapacityProviderARNs, in.Critical, in.DeploymentConfiguration, in.PropagateTags, in.EnableECSManagedTags, in.EnableExecuteCommand}
	revision, rollout, err := given.change(r, cluster, &after)
	if err = cmp.Or(err, auth.CheckAccount(r.Principal, r.Grant, r.Owner, known)); err != nil {
		return nil, err
	}
	rollout.Sources = r.Services().RevisionCounts(known)
	change := service.Change{Settings: &after.Settings, Before: &known.Settings, Revision: revision, Rollout: rollout, From: known.Primary().ID}
	updated, err := call.Apply[*service.Service](ctx, r, raftfsm.UpdateService{Cluster: known.Cluster, Name: known.Name, Change: change, At: r.Now()})
	if err != nil {
		return nil, ended(err)
	}
	d := r.Services().Daemon(updated)
	return &types.UpdateDaemonOutput{DaemonARN: d.DaemonARN, Status: d.Status, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, DeploymentARN: d.DeploymentARN}, nil
}

// findActive finds a daemon that is ACTIVE, and its cluster.
func findActive(r *call.Request, given string) (*service.Service, *spec.Cluster, error) {
	s, err := find(r, given)
	if err != nil {
		return nil, nil, err
	}
	if s.Status != service.Active {
		return nil, nil, errNotActive
	}
	cluster, err := r.Cluster(s.Cluster)
	return s, cluster, err
}

// ended is what a daemon that has ended since it was looked up is refused with.
func ended(err error) error {
	switch {
	case errors.Is(err, spec.ErrNotFound):
		return errNotFound
	case errors.Is(err, spec.ErrInactive):
		return errNotActive
	}
	return err
}

// Delete ends a daemon and stops its tasks. Until they have stopped it is DELETE_IN_PROGRESS.
func Delete(ctx context.Context, r *call.Request, in *types.DeleteDaemonInput) (*types.DeleteDaemonOutput, error) {
	known, _, err := findActive(r, in.DaemonARN)
	if err != nil {
		return nil, err
	}
	if err := checkCritical(r, known); err != nil {
		return nil, err
	}
	deleted, err := call.Apply[*service.Service](ctx, r, raftfsm.DeleteService{Cluster: known.Cluster, Name: known.Name, At: r.Now()})
	if err != nil {
		return nil, ended(err)
	}
	d := r.Services().Daemon(deleted)
	return &types.DeleteDaemonOutput{DaemonARN: d.DaemonARN, Status: d.Status, CreatedAt: d.CreatedAt, UpdatedAt: wire.NewTime(r.Now())}, nil
}
