package types

import (
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// The inputs below embed the nouns that the state records, whose JSON names are ECS's, and hide the fields that differ in
// an input: fields that Pinion rewrites, and fields that it refuses by name.

// ContainerDefinitionInput is ECS's ContainerDefinition in an input.
type ContainerDefinitionInput struct {
	spec.ContainerDefinition
	PortMappings         []spec.PortMapping           `json:"portMappings"`
	ResourceRequirements []ResourceRequirementInput   `json:"resourceRequirements"`
	HealthCheck          *HealthCheckInput            `json:"healthCheck"`
	RestartPolicy        *ContainerRestartPolicyInput `json:"restartPolicy"`
	GPUCount             any                          `json:"gpuCount"` // Pinion's own, in place of resourceRequirements
	CredentialSpecs      wire.Unsupported             `json:"credentialSpecs" never:"it is for containers of Windows, and hosts run Linux; tickets of Kerberos come in a volume"`
}

// HealthCheckInput is ECS's HealthCheck in an input; a number that is nil gets ECS's default.
type HealthCheckInput struct {
	Command     []string `json:"command"`
	Interval    *int     `json:"interval"`
	Timeout     *int     `json:"timeout"`
	Retries     *int     `json:"retries"`
	StartPeriod *int     `json:"startPeriod"`
}

// ContainerRestartPolicyInput is ECS's ContainerRestartPolicy in an input.
type ContainerRestartPolicyInput struct {
	spec.RestartPolicy
	Enabled *bool `json:"enabled"`
}

// VolumeInput is ECS's Volume in an input.
type VolumeInput struct {
	spec.Volume
	FSx                wire.Unsupported `json:"fsxWindowsFileServerVolumeConfiguration" never:"it is for containers of Windows, and hosts run Linux; a share of SMB is mounted by a host with pinion up --file-system NAME=cifs://SERVER/SHARE, and named by efsVolumeConfiguration"`
	S3Files            wire.Unsupported `json:"s3filesVolumeConfiguration" never:"it mounts a file system of Amazon S3 Files, which is in AWS alone; a directory of the host, or NFS by efsVolumeConfiguration, is here"`
	ConfiguredAtLaunch wire.Unsupported `json:"configuredAtLaunch" never:"it makes a volume of Amazon EBS at the launch, which is in AWS alone; a directory of the host by host.sourcePath is here"`
}

// ResourceRequirementInput is ECS's ResourceRequirement in an input, and the form with count and capabilities that some
// write for it. The amounts are of any type, so that a wrong one is refused in words about GPUs.
type ResourceRequirementInput struct {
	Type            string                `json:"type"`
	Value           any                   `json:"value"`
	Count           any                   `json:"count"`        // Pinion's own
	Capabilities    []string              `json:"capabilities"` // Pinion's own
	SharingStrategy *spec.SharingStrategy `json:"sharingStrategy"`
}

// ContainerOverrideInput is ECS's ContainerOverride in an input.
type ContainerOverrideInput struct {
	spec.ContainerOverride
	ResourceRequirements []ResourceRequirementInput `json:"resourceRequirements"`
}
