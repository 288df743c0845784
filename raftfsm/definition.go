package raftfsm

import (
	"fmt"
	"time"
)

// DefinitionStatus is ECS's task definition status.
type DefinitionStatus string

// Statuses of a task definition.
const (
	DefinitionActive   DefinitionStatus = "ACTIVE"
	DefinitionInactive DefinitionStatus = "INACTIVE" // deregistered: can be described, cannot be run
)

// TaskDefinition is one immutable revision of a family: containers, images, resources. The JSON names are ECS's, so
// the stored document is the document that users see. It is stored normalised (see api/ecs): every container carries
// its defaults, GPU requirements are in ECS's own form. Only Status and DeregisteredAt ever change.
type TaskDefinition struct {
	Family                  string                `json:"family"`
	Revision                int                   `json:"revision"` // from 1, never used twice
	Status                  DefinitionStatus      `json:"status"`
	Containers              []ContainerDefinition `json:"containerDefinitions"`
	TaskRoleARN             string                `json:"taskRoleArn,omitempty"`      // echoed, without effect
	ExecutionRoleARN        string                `json:"executionRoleArn,omitempty"` // echoed, without effect
	NetworkMode             string                `json:"networkMode,omitempty"`      // bridge (default), host, none
	Volumes                 []Volume              `json:"volumes"`
	PlacementConstraints    []PlacementConstraint `json:"placementConstraints"`
	RequiresAttributes      []Attribute           `json:"requiresAttributes,omitempty"`
	RequiresCompatibilities []string              `json:"requiresCompatibilities,omitempty"` // EC2, EXTERNAL
	Compatibilities         []string              `json:"compatibilities,omitempty"`
	CPU                     string                `json:"cpu,omitempty"`    // CPU units of the whole task, decimal
	Memory                  string                `json:"memory,omitempty"` // MiB of the whole task, decimal
	PIDMode                 string                `json:"pidMode,omitempty"`
	IPCMode                 string                `json:"ipcMode,omitempty"`
	RuntimePlatform         *RuntimePlatform      `json:"runtimePlatform,omitempty"`
	RegisteredAt            time.Time             `json:"registeredAt"`
	DeregisteredAt          time.Time             `json:"deregisteredAt,omitzero"`
	RegisteredBy            string                `json:"registeredBy,omitempty"`
	Tags                    []Tag                 `json:"tags,omitempty"`
}

// Name is "family:revision", the key of the definition.
func (d *TaskDefinition) Name() string { return fmt.Sprintf("%s:%d", d.Family, d.Revision) }

// ContainerDefinition is one container of a task definition, as ECS documents it.
type ContainerDefinition struct {
	Name                   string                `json:"name"`
	Image                  string                `json:"image"`
	CPU                    int64                 `json:"cpu"`                         // units: weight of this container within the task
	Memory                 int64                 `json:"memory,omitempty"`            // MiB, hard limit
	MemoryReservation      int64                 `json:"memoryReservation,omitempty"` // MiB, soft limit, what placement counts when given
	Essential              *bool                 `json:"essential"`                   // never nil once stored
	EntryPoint             []string              `json:"entryPoint,omitempty"`
	Command                []string              `json:"command,omitempty"`
	Environment            []KeyValue            `json:"environment"`
	WorkingDirectory       string                `json:"workingDirectory,omitempty"`
	User                   string                `json:"user,omitempty"`
	Hostname               string                `json:"hostname,omitempty"`
	PortMappings           []PortMapping         `json:"portMappings"`
	MountPoints            []MountPoint          `json:"mountPoints"`
	VolumesFrom            []VolumeFrom          `json:"volumesFrom"`
	LinuxParameters        *LinuxParameters      `json:"linuxParameters,omitempty"`
	Ulimits                []Ulimit              `json:"ulimits,omitempty"`
	LogConfiguration       *LogConfiguration     `json:"logConfiguration,omitempty"`
	ResourceRequirements   []ResourceRequirement `json:"resourceRequirements,omitempty"`
	StopTimeout            *int                  `json:"stopTimeout,omitempty"` // seconds from SIGTERM to SIGKILL, 30 when nil
	Privileged             *bool                 `json:"privileged,omitempty"`
	ReadonlyRootFilesystem *bool                 `json:"readonlyRootFilesystem,omitempty"`
	PseudoTerminal         *bool                 `json:"pseudoTerminal,omitempty"`
	Interactive            *bool                 `json:"interactive,omitempty"`
	DockerLabels           map[string]string     `json:"dockerLabels,omitempty"`
}

// IsEssential reports whether the exit of this container ends the task (the default).
func (c *ContainerDefinition) IsEssential() bool { return c.Essential == nil || *c.Essential }

// KeyValue is an environment variable or an option.
type KeyValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// PortMapping publishes a container port on the host. HostPort 0 in bridge mode means any free one.
type PortMapping struct {
	ContainerPort int    `json:"containerPort"`
	HostPort      int    `json:"hostPort"`
	Protocol      string `json:"protocol"` // tcp or udp
	Name          string `json:"name,omitempty"`
}

// MountPoint mounts one of the task's volumes into a container.
type MountPoint struct {
	SourceVolume  string `json:"sourceVolume,omitempty"`
	ContainerPath string `json:"containerPath,omitempty"`
	ReadOnly      bool   `json:"readOnly,omitempty"`
}

// VolumeFrom mounts the volumes of another container. Refused at registration for now.
type VolumeFrom struct {
	SourceContainer string `json:"sourceContainer,omitempty"`
	ReadOnly        bool   `json:"readOnly,omitempty"`
}

// Volume is a directory of the host, or scratch space of the task when it names no host path.
type Volume struct {
	Name string      `json:"name"`
	Host *HostVolume `json:"host,omitempty"`
}

// HostVolume names the directory on the host.
type HostVolume struct {
	SourcePath string `json:"sourcePath,omitempty"`
}

// LinuxParameters are the kernel-level options of a container.
type LinuxParameters struct {
	Capabilities       *Capabilities `json:"capabilities,omitempty"`
	InitProcessEnabled *bool         `json:"initProcessEnabled,omitempty"`
	SharedMemorySize   int64         `json:"sharedMemorySize,omitempty"` // MiB of /dev/shm
	Tmpfs              []Tmpfs       `json:"tmpfs,omitempty"`
}

// Capabilities adds to and takes from the default set ("ALL" or names without CAP_).
type Capabilities struct {
	Add  []string `json:"add,omitempty"`
	Drop []string `json:"drop,omitempty"`
}

// Tmpfs is a memory file system inside the container; Size in MiB.
type Tmpfs struct {
	ContainerPath string   `json:"containerPath"`
	Size          int64    `json:"size"`
	MountOptions  []string `json:"mountOptions,omitempty"`
}

// Ulimit is one resource limit; -1 means unlimited.
type Ulimit struct {
	Name      string `json:"name"`
	SoftLimit int64  `json:"softLimit"`
	HardLimit int64  `json:"hardLimit"`
}

// LogConfiguration chooses the log driver: awslogs or json-file, both kept by the host's own logger.
type LogConfiguration struct {
	LogDriver string            `json:"logDriver"`
	Options   map[string]string `json:"options,omitempty"`
}

// ResourceRequirement asks for GPUs: Type "GPU", Value a positive integer in decimal.
type ResourceRequirement struct {
	Value string `json:"value"`
	Type  string `json:"type"`
}

// RuntimePlatform names the operating system and CPU the containers need ("LINUX", "X86_64" or "ARM64").
type RuntimePlatform struct {
	CPUArchitecture       string `json:"cpuArchitecture,omitempty"`
	OperatingSystemFamily string `json:"operatingSystemFamily,omitempty"`
}

// PlacementConstraint is distinctInstance or memberOf with an expression of the cluster query language.
type PlacementConstraint struct {
	Type       string `json:"type"`
	Expression string `json:"expression,omitempty"`
}

// Types of placement constraints.
const (
	MemberOf         = "memberOf"
	DistinctInstance = "distinctInstance" // each task of a group on a host of its own; not in definitions
)

// PlacementStrategy says which of the hosts that can run a task is the best: binpack (Field cpu, memory or gpu: the
// one with the least left), spread (Field instanceId or attribute:NAME: the one with the fewest tasks of the group) or
// random (no Field).
type PlacementStrategy struct {
	Type  string `json:"type"`
	Field string `json:"field,omitempty"`
}

// Attribute is a name with an optional value that a host carries or a definition requires.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// family remembers the last revision that was given out, so that none is ever used twice.
type family struct {
	Name         string `json:"name"`
	LastRevision int    `json:"lastRevision"`
}

// RegisterDefinition stores the definition under the next revision of its family. Answer: *TaskDefinition.
type RegisterDefinition struct{ Definition TaskDefinition }

func (c RegisterDefinition) apply(tx *tx) (any, error) {
	next := family{Name: c.Definition.Family, LastRevision: 1}
	if known := first[family](&tx.View, tableFamilies, byID, next.Name); known != nil {
		next.LastRevision = known.LastRevision + 1
	}
	c.Definition.Revision, c.Definition.Status = next.LastRevision, DefinitionActive
	tx.put(tableFamilies, &next)
	tx.put(tableDefinitions, &c.Definition)
	return &c.Definition, nil
}

// DeregisterDefinition makes a revision INACTIVE; one that is INACTIVE already stays as it is. ErrNotFound.
// Answer: *TaskDefinition.
type DeregisterDefinition struct {
	Name string // family:revision
	At   time.Time
}

func (c DeregisterDefinition) apply(tx *tx) (any, error) {
	known := tx.Definition(c.Name)
	if known == nil || known.Name() != c.Name {
		return nil, fmt.Errorf("task definition %q: %w", c.Name, ErrNotFound)
	}
	if known.Status == DefinitionInactive {
		return known, nil
	}
	inactive := *known
	inactive.Status, inactive.DeregisteredAt = DefinitionInactive, c.At
	tx.put(tableDefinitions, &inactive)
	return &inactive, nil
}
