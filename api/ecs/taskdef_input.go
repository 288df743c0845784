package ecs

import (
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// The shapes in which task definitions come in. They are raftfsm's nouns, whose JSON names are ECS's, with the
// fields on top that only exist on the way in: what Pinion rewrites, and what it refuses by name.

type registerInput struct {
	Family                  string                     `json:"family"`
	Containers              []containerInput           `json:"containerDefinitions"`
	TaskRoleARN             string                     `json:"taskRoleArn"`
	ExecutionRoleARN        string                     `json:"executionRoleArn"`
	NetworkMode             string                     `json:"networkMode"`
	Volumes                 []volumeInput              `json:"volumes"`
	PlacementConstraints    []spec.PlacementConstraint `json:"placementConstraints"`
	RequiresCompatibilities []string                   `json:"requiresCompatibilities"`
	CPU                     string                     `json:"cpu"`
	Memory                  string                     `json:"memory"`
	PIDMode                 string                     `json:"pidMode"`
	IPCMode                 string                     `json:"ipcMode"`
	RuntimePlatform         *spec.RuntimePlatform      `json:"runtimePlatform"`
	Tags                    []spec.Tag                 `json:"tags"`
	Version                 any                        `json:"version"` // of a compose file; it means nothing here
	ProxyConfiguration      wire.Unsupported           `json:"proxyConfiguration" why:"it belongs to AWS App Mesh"`
	InferenceAccelerators   wire.Unsupported           `json:"inferenceAccelerators" why:"GPUs are asked for with resourceRequirements"`
	EphemeralStorage        wire.Unsupported           `json:"ephemeralStorage" why:"it belongs to Fargate"`
	EnableFaultInjection    wire.Unsupported           `json:"enableFaultInjection" why:"there is no fault injection service here"`
}

type containerInput struct {
	spec.ContainerDefinition
	PortMappings          []portInput        `json:"portMappings"`
	LinuxParameters       *linuxInput        `json:"linuxParameters"`
	LogConfiguration      *logInput          `json:"logConfiguration"`
	ResourceRequirements  []requirementInput `json:"resourceRequirements"`
	HealthCheck           *healthInput       `json:"healthCheck"`
	RestartPolicy         *restartInput      `json:"restartPolicy"`
	GPUCount              any                `json:"gpuCount"` // not ECS's: some write it for resourceRequirements
	Secrets               wire.Unsupported   `json:"secrets" why:"there is no secret store yet; put the value into environment"`
	EnvironmentFiles      wire.Unsupported   `json:"environmentFiles" why:"there is no S3 here; put the variables into environment"`
	RepositoryCredentials wire.Unsupported   `json:"repositoryCredentials" why:"hosts log in to registries with their own credentials"`
	Firelens              wire.Unsupported   `json:"firelensConfiguration" why:"logs are kept by the host"`
	Links                 wire.Unsupported   `json:"links" why:"containers find one another by published ports, or share the host's network with networkMode host"`
	DockerSecurityOptions wire.Unsupported   `json:"dockerSecurityOptions" why:"every container runs with the host's default seccomp and AppArmor profiles"`
	CredentialSpecs       wire.Unsupported   `json:"credentialSpecs" why:"there is no Active Directory here"`
	DisableNetworking     wire.Unsupported   `json:"disableNetworking" why:"set networkMode to none"`
}

type portInput struct {
	spec.PortMapping
	Range wire.Unsupported `json:"containerPortRange" why:"list the ports one by one"`
}

// healthInput leaves out what ECS has defaults for.
type healthInput struct {
	Command     []string `json:"command"`
	Interval    *int     `json:"interval"`
	Timeout     *int     `json:"timeout"`
	Retries     *int     `json:"retries"`
	StartPeriod *int     `json:"startPeriod"`
}

type restartInput struct {
	spec.RestartPolicy
	Enabled *bool `json:"enabled"`
}

type linuxInput struct {
	spec.LinuxParameters
	Devices    wire.Unsupported `json:"devices" why:"GPUs are asked for with resourceRequirements"`
	MaxSwap    wire.Unsupported `json:"maxSwap" why:"a container may swap as much as its memory"`
	Swappiness wire.Unsupported `json:"swappiness" why:"the host's setting counts"`
}

type logInput struct {
	spec.LogConfiguration
	SecretOptions wire.Unsupported `json:"secretOptions" why:"there is no secret store yet"`
}

type volumeInput struct {
	spec.Volume
	Docker             wire.Unsupported `json:"dockerVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	EFS                wire.Unsupported `json:"efsVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	FSx                wire.Unsupported `json:"fsxWindowsFileServerVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	S3Files            wire.Unsupported `json:"s3filesVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	ConfiguredAtLaunch wire.Unsupported `json:"configuredAtLaunch" why:"volumes are directories of the host, or scratch space of the task"`
}

// requirementInput takes ECS's form, type and value, and the form with count and capabilities that some write for it.
// The amounts are free here, so that a wrong one is refused in words about GPUs.
type requirementInput struct {
	Type         string                `json:"type"`
	Value        any                   `json:"value"`
	Count        any                   `json:"count"`
	Capabilities []string              `json:"capabilities"`
	Sharing      *spec.SharingStrategy `json:"sharingStrategy"`
}
