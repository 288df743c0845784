package ecs

import (
	"pinion/api/wire"
	"pinion/raftfsm"
)

// The shapes in which task definitions come in. They are raftfsm's nouns, whose JSON names are ECS's, with the
// fields on top that only exist on the way in: what Pinion rewrites, and what it refuses by name.

type registerInput struct {
	Family                  string                        `json:"family"`
	Containers              []containerInput              `json:"containerDefinitions"`
	TaskRoleARN             string                        `json:"taskRoleArn"`
	ExecutionRoleARN        string                        `json:"executionRoleArn"`
	NetworkMode             string                        `json:"networkMode"`
	Volumes                 []volumeInput                 `json:"volumes"`
	PlacementConstraints    []raftfsm.PlacementConstraint `json:"placementConstraints"`
	RequiresCompatibilities []string                      `json:"requiresCompatibilities"`
	CPU                     string                        `json:"cpu"`
	Memory                  string                        `json:"memory"`
	PIDMode                 string                        `json:"pidMode"`
	IPCMode                 string                        `json:"ipcMode"`
	RuntimePlatform         *raftfsm.RuntimePlatform      `json:"runtimePlatform"`
	Tags                    []raftfsm.Tag                 `json:"tags"`
	Version                 any                           `json:"version"` // of a compose file; it means nothing here
	ProxyConfiguration      wire.Unsupported              `json:"proxyConfiguration"`
	InferenceAccelerators   wire.Unsupported              `json:"inferenceAccelerators" why:"GPUs are asked for with resourceRequirements"`
	EphemeralStorage        wire.Unsupported              `json:"ephemeralStorage" why:"it belongs to Fargate"`
	EnableFaultInjection    wire.Unsupported              `json:"enableFaultInjection"`
}

type containerInput struct {
	raftfsm.ContainerDefinition
	PortMappings          []portInput        `json:"portMappings"`
	LinuxParameters       *linuxInput        `json:"linuxParameters"`
	LogConfiguration      *logInput          `json:"logConfiguration"`
	ResourceRequirements  []requirementInput `json:"resourceRequirements"`
	GPUCount              any                `json:"gpuCount"` // not ECS's: some write it for resourceRequirements
	VolumesFrom           wire.Unsupported   `json:"volumesFrom" why:"give both containers the same mountPoints"`
	Secrets               wire.Unsupported   `json:"secrets" why:"there is no secret store yet; put the value into environment"`
	EnvironmentFiles      wire.Unsupported   `json:"environmentFiles" why:"there is no S3 here; put the variables into environment"`
	RepositoryCredentials wire.Unsupported   `json:"repositoryCredentials" why:"hosts log in to registries with their own credentials"`
	Firelens              wire.Unsupported   `json:"firelensConfiguration" why:"logs are kept by the host"`
	HealthCheck           wire.Unsupported   `json:"healthCheck"`
	DependsOn             wire.Unsupported   `json:"dependsOn" why:"the containers of a task start together"`
	StartTimeout          wire.Unsupported   `json:"startTimeout"`
	RestartPolicy         wire.Unsupported   `json:"restartPolicy"`
	Links                 wire.Unsupported   `json:"links"`
	SystemControls        wire.Unsupported   `json:"systemControls"`
	DockerSecurityOptions wire.Unsupported   `json:"dockerSecurityOptions"`
	CredentialSpecs       wire.Unsupported   `json:"credentialSpecs"`
	ExtraHosts            wire.Unsupported   `json:"extraHosts"`
	DNSServers            wire.Unsupported   `json:"dnsServers" why:"containers use the host's resolver"`
	DNSSearchDomains      wire.Unsupported   `json:"dnsSearchDomains" why:"containers use the host's resolver"`
	DisableNetworking     wire.Unsupported   `json:"disableNetworking" why:"set networkMode to none"`
	VersionConsistency    wire.Unsupported   `json:"versionConsistency"`
}

type portInput struct {
	raftfsm.PortMapping
	Range       wire.Unsupported `json:"containerPortRange" why:"list the ports one by one"`
	AppProtocol wire.Unsupported `json:"appProtocol" why:"it belongs to service connect"`
}

type linuxInput struct {
	raftfsm.LinuxParameters
	Devices    wire.Unsupported `json:"devices" why:"GPUs are asked for with resourceRequirements"`
	MaxSwap    wire.Unsupported `json:"maxSwap"`
	Swappiness wire.Unsupported `json:"swappiness"`
}

type logInput struct {
	raftfsm.LogConfiguration
	SecretOptions wire.Unsupported `json:"secretOptions" why:"there is no secret store yet"`
}

type volumeInput struct {
	raftfsm.Volume
	Docker             wire.Unsupported `json:"dockerVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	EFS                wire.Unsupported `json:"efsVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	FSx                wire.Unsupported `json:"fsxWindowsFileServerVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	S3Files            wire.Unsupported `json:"s3filesVolumeConfiguration" why:"volumes are directories of the host, or scratch space of the task"`
	ConfiguredAtLaunch wire.Unsupported `json:"configuredAtLaunch" why:"volumes are directories of the host, or scratch space of the task"`
}

// requirementInput takes ECS's form, type and value, and the form with count and capabilities that some write for it.
// The amounts are free here, so that a wrong one is refused in words about GPUs.
type requirementInput struct {
	Type         string           `json:"type"`
	Value        any              `json:"value"`
	Count        any              `json:"count"`
	Capabilities []string         `json:"capabilities"`
	Sharing      wire.Unsupported `json:"sharingStrategy" why:"a GPU belongs to one container at a time"`
}
