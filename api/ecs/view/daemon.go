package view

import (
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Daemon renders a daemon. A host is without it that it is for and where no task of it runs.
func (v *Services) Daemon(s *service.Service) types.DaemonDetail {
	brief, primary := v.DaemonSummary(s), s.Primary()
	out := types.DaemonDetail{
		DaemonARN: brief.DaemonARN, ClusterARN: v.r.ClusterARN(s.Cluster), Status: brief.Status, CreatedAt: brief.CreatedAt, UpdatedAt: brief.UpdatedAt,
		DeploymentARN: v.rolloutARN(s.Cluster, s.Name, primary.Rollout), CurrentRevisions: []types.DaemonRevisionDetail{},
	}
	counts, running := v.revisionCounts(s.ID), 0
	for _, n := range counts {
		running += n.running
	}
	for i := range s.Deployments {
		d := &s.Deployments[i]
		detail := types.DaemonRevisionDetail{ARN: v.revisionARN(s.Cluster, s.Name, d.ID), TotalRunningCount: counts[d.ID].running, CapacityProviders: []types.DaemonCapacityProvider{}}
		if d == primary {
			detail.TotalWithoutDaemonCount = max(0, s.Desired-running)
		}
		for _, provider := range v.daemonProviders(d.ID) {
			detail.CapacityProviders = append(detail.CapacityProviders, types.DaemonCapacityProvider{ARN: provider, RunningCount: detail.TotalRunningCount, WithoutDaemonCount: detail.TotalWithoutDaemonCount})
		}
		out.CurrentRevisions = append(out.CurrentRevisions, detail)
	}
	return out
}

// daemonProviders are the ARNs of the capacity providers of a revision, of which a daemon has one.
func (v *Services) daemonProviders(revision string) []string {
	all := []string{}
	if known := v.revision(revision); known != nil {
		for _, item := range known.Providers {
			all = append(all, v.r.ProviderARN(item.CapacityProvider))
		}
	}
	return all
}

// DaemonSummary renders the part of a daemon that lists show. Every update is a deployment.
func (v *Services) DaemonSummary(s *service.Service) types.DaemonSummary {
	status := "DELETE_IN_PROGRESS"
	if s.Status == service.Active {
		status = "ACTIVE"
	}
	return types.DaemonSummary{
		DaemonARN: v.r.ServiceARN(s.Cluster, s.Name), Status: status, CreatedAt: wire.NewTime(s.CreatedAt), UpdatedAt: wire.NewTime(s.Primary().CreatedAt),
	}
}

// DaemonDeployment renders a rollout of a daemon. The counts of one that is under way follow from the tasks there are.
func (v *Services) DaemonDeployment(d *service.Rollout) types.DaemonDeployment {
	brief, counts := v.DaemonDeploymentSummary(d), v.revisionCounts(d.ServiceID)
	target := v.daemonRevisionDetail(d, d.Target, counts)
	out := types.DaemonDeployment{
		DaemonDeploymentARN: brief.DaemonDeploymentARN, ClusterARN: brief.ClusterARN, Status: brief.Status, StatusReason: brief.StatusReason,
		CreatedAt: brief.CreatedAt, StartedAt: brief.StartedAt, FinishedAt: brief.FinishedAt, StoppedAt: brief.StoppedAt,
		TargetDaemonRevision: &target, SourceDaemonRevisions: []types.DaemonDeploymentRevisionDetail{}, DeploymentConfiguration: daemonConfiguration(&d.Configuration),
		CircuitBreaker: &types.DaemonCircuitBreaker{Status: breakerStatus(d), FailureCount: d.Failures, Threshold: d.Threshold},
	}
	for _, source := range d.Sources {
		out.SourceDaemonRevisions = append(out.SourceDaemonRevisions, v.daemonRevisionDetail(d, source, counts))
	}
	if back := d.Rollback; back != nil {
		out.Rollback = &types.DaemonRollback{
			Reason: back.Reason, StartedAt: wire.NewTime(back.StartedAt), RollbackTargetDaemonRevisionARN: v.revisionARN(d.Cluster, d.Service, back.Revision),
			RollbackCapacityProviders: v.daemonProviders(back.Revision),
		}
	}
	return out
}

func (v *Services) daemonRevisionDetail(d *service.Rollout, n service.RevisionCount, counts map[string]revisionCount) types.DaemonDeploymentRevisionDetail {
	running := n.Running
	if !d.IsFinished() {
		running = counts[n.Revision].running
	}
	out := types.DaemonDeploymentRevisionDetail{
		ARN: v.revisionARN(d.Cluster, d.Service, n.Revision), TotalRunningInstanceCount: &running, CapacityProviders: []types.DaemonDeploymentCapacityProvider{},
	}
	for _, provider := range v.daemonProviders(n.Revision) {
		out.CapacityProviders = append(out.CapacityProviders, types.DaemonDeploymentCapacityProvider{ARN: provider, RunningInstanceCount: &running})
	}
	return out
}

func daemonConfiguration(c *service.DeploymentConfiguration) *types.DaemonDeploymentConfiguration {
	out := &types.DaemonDeploymentConfiguration{DrainPercent: percent(service.DefaultDrain)}
	if c.DrainPerMille != nil {
		out.DrainPercent = percent(*c.DrainPerMille)
	}
	if c.BakeMinutes != nil {
		out.BakeTimeInMinutes = *c.BakeMinutes
	}
	return out
}

// DaemonDeploymentSummary renders the part of a rollout of a daemon that lists show.
func (v *Services) DaemonDeploymentSummary(d *service.Rollout) types.DaemonDeploymentSummary {
	return types.DaemonDeploymentSummary{
		DaemonDeploymentARN: v.rolloutARN(d.Cluster, d.Service, d.ID), DaemonARN: v.r.ServiceARN(d.Cluster, d.Service), ClusterARN: v.r.ClusterARN(d.Cluster),
		CreatedAt: wire.NewTime(d.CreatedAt), StartedAt: wire.NewTime(d.StartedAt), FinishedAt: wire.NewTime(d.FinishedAt), StoppedAt: wire.NewTime(d.StoppedAt),
		TargetDaemonRevisionARN: v.revisionARN(d.Cluster, d.Service, d.Target.Revision), Status: string(d.Status), StatusReason: d.Reason,
	}
}

// DaemonRevision renders a revision of a daemon.
func (v *Services) DaemonRevision(of *service.Revision) types.DaemonRevision {
	out := types.DaemonRevision{
		DaemonRevisionARN: v.revisionARN(of.Cluster, of.Service, of.ID), DaemonARN: v.r.ServiceARN(of.Cluster, of.Service), ClusterARN: v.r.ClusterARN(of.Cluster),
		DaemonTaskDefinitionARN: v.r.DefinitionARN(of.Definition), CreatedAt: wire.NewTime(of.CreatedAt), PropagateTags: "NONE", EnableExecuteCommand: of.ExecuteCommand, Critical: of.Critical, ContainerImages: []types.DaemonContainerImage{},
	}
	if t := of.Tagging; t != nil {
		if out.EnableECSManagedTags = t.Managed; t.Propagate == "SERVICE" {
			out.PropagateTags = "DAEMON"
		}
	}
	for _, image := range containerImages(v.r.definition(of.Definition)) {
		out.ContainerImages = append(out.ContainerImages, types.DaemonContainerImage{ContainerName: image.ContainerName, Image: image.Image})
	}
	return out
}

// DaemonDefinition renders a daemon task definition.
func (r *Renderer) DaemonDefinition(d *spec.TaskDefinition) types.DaemonTaskDefinition {
	brief := r.DaemonDefinitionSummary(d)
	out := types.DaemonTaskDefinition{
		DaemonTaskDefinitionARN: brief.ARN, Family: d.Family[len(spec.DaemonPrefix):], Revision: d.Revision, Status: brief.Status,
		RegisteredAt: brief.RegisteredAt, RegisteredBy: brief.RegisteredBy, DeleteRequestedAt: brief.DeleteRequestedAt,
		TaskRoleARN: d.TaskRoleARN, ExecutionRoleARN: d.ExecutionRoleARN, CPU: d.CPU, Memory: d.Memory,
		PIDMode: sharing(d.PIDMode), IPCMode: sharing(d.IPCMode), Volumes: []types.DaemonVolume{}, ContainerDefinitions: []types.DaemonContainerDefinition{},
	}
	for _, volume := range d.Volumes {
		out.Volumes = append(out.Volumes, types.DaemonVolume{Name: volume.Name, Host: volume.Host})
	}
	for i := range d.Containers {
		out.ContainerDefinitions = append(out.ContainerDefinitions, daemonContainer(&d.Containers[i]))
	}
	return out
}

// sharing is the mode of a daemon's namespace: the host's, or its own.
func sharing(mode string) string {
	if mode == "host" {
		return "shared"
	}
	return "none"
}

// DaemonDefinitionSummary renders the part of a daemon task definition that lists show.
func (r *Renderer) DaemonDefinitionSummary(d *spec.TaskDefinition) types.DaemonTaskDefinitionSummary {
	return types.DaemonTaskDefinitionSummary{
		ARN: r.DefinitionARN(d.Name()), Status: string(d.Status), RegisteredAt: wire.NewTime(d.RegisteredAt), RegisteredBy: d.RegisteredBy,
		DeleteRequestedAt: wire.NewTime(d.DeleteRequestedAt),
	}
}

func daemonContainer(c *spec.ContainerDefinition) types.DaemonContainerDefinition {
	out := types.DaemonContainerDefinition{
		Name: c.Name, Image: c.Image, CPU: c.CPU, Memory: c.Memory, MemoryReservation: c.MemoryReservation, Essential: c.Essential,
		EntryPoint: c.EntryPoint, Command: c.Command, Environment: c.Environment, WorkingDirectory: c.WorkingDirectory, User: c.User,
		MountPoints: c.MountPoints, Ulimits: c.Ulimits, LogConfiguration: c.LogConfiguration, StartTimeout: c.StartTimeout, StopTimeout: c.StopTimeout,
		Privileged: c.Privileged, ReadonlyRootFilesystem: c.ReadonlyRootFilesystem, PseudoTerminal: c.PseudoTerminal, Interactive: c.Interactive,
		HealthCheck: c.HealthCheck, DependsOn: c.DependsOn, RestartPolicy: c.RestartPolicy, SystemControls: c.SystemControls,
		FirelensConfiguration: c.FirelensConfiguration, Secrets: c.Secrets, RepositoryCredentials: c.RepositoryCredentials, EnvironmentFiles: c.EnvironmentFiles,
	}
	if p := c.LinuxParameters; p != nil {
		out.LinuxParameters = &types.DaemonLinuxParameters{Capabilities: p.Capabilities, Devices: p.Devices, InitProcessEnabled: p.InitProcessEnabled, Tmpfs: p.Tmpfs}
	}
	return out
}
