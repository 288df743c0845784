package spec

import (
	"fmt"
	"strings"
	"time"

	"pinion/raftfsm/filesystem"
	"pinion/raftfsm/volumeroot"
)

// DefinitionStatus is ECS's task definition status.
type DefinitionStatus string

// Statuses of a task definition.
const (
	DefinitionActive   DefinitionStatus = "ACTIVE"
	DefinitionInactive DefinitionStatus = "INACTIVE"           // deregistered: can be described, cannot be run
	DefinitionDeleting DefinitionStatus = "DELETE_IN_PROGRESS" // forgotten as soon as no task refers to it
)

// TaskDefinition is one immutable revision of a family: containers, images, resources. The JSON names are ECS's, so
// the stored document is the document that users see. It is stored normalised (see api/ecs): every container carries
// its defaults, GPU requirements are in ECS's own form. Only Status, its
// two times and Tags ever change.
//
// Revisions are never reused. A family keeps its last one. A deleted revision goes with its last task (Reap), and so does one that was INACTIVE
// for 90 days.
type TaskDefinition struct {
	Family                  string                `json:"family"`
	Revision                int                   `json:"revision"` // from 1, never used twice
	Status                  DefinitionStatus      `json:"status"`
	Containers              []ContainerDefinition `json:"containerDefinitions"`
	TaskRoleARN             string                `json:"taskRoleArn,omitempty"`
	ExecutionRoleARN        string                `json:"executionRoleArn,omitempty"` // echoed, without effect
	NetworkMode             string                `json:"networkMode,omitempty"`      // bridge (default), host, awsvpc, none
	Volumes                 []Volume              `json:"volumes"`
	PlacementConstraints    []PlacementConstraint `json:"placementConstraints"`
	RequiresAttributes      []Attribute           `json:"requiresAttributes,omitempty"`      // beside what it needs by its fields; see Requires
	RequiresCompatibilities []string              `json:"requiresCompatibilities,omitempty"` // EC2, EXTERNAL
	Compatibilities         []string              `json:"compatibilities,omitempty"`
	CPU                     string                `json:"cpu,omitempty"`    // CPU units of the whole task, decimal
	Memory                  string                `json:"memory,omitempty"` // MiB of the whole task, decimal
	PIDMode                 string                `json:"pidMode,omitempty"`
	IPCMode                 string                `json:"ipcMode,omitempty"`
	RuntimePlatform         *RuntimePlatform      `json:"runtimePlatform,omitempty"`
	RegisteredAt            time.Time             `json:"registeredAt"`
	DeregisteredAt          time.Time             `json:"deregisteredAt,omitzero"`
	DeleteRequestedAt       time.Time             `json:"deleteRequestedAt,omitzero"`
	RegisteredBy            string                `json:"registeredBy,omitempty"`
	Tags                    []Tag                 `json:"tags,omitempty"`
	TaskRoleID              string                `json:"taskRoleId,omitempty" level:"1"` // of the role of the pool that taskRoleArn named when it was registered
}

// HasOwnAddress reports whether each task of the definition has an address of its own, which its containers share: networkMode awsvpc.
func (d *TaskDefinition) HasOwnAddress() bool { return d.NetworkMode == "awsvpc" }

// Name is "family:revision", the key of the definition.
func (d *TaskDefinition) Name() string { return fmt.Sprintf("%s:%d", d.Family, d.Revision) }

// Volume is a directory of the host, or scratch space of the task when it names no host path.
type Volume struct {
	Name   string                          `json:"name"`
	Host   *HostVolume                     `json:"host,omitempty"`
	Docker *volumeroot.DockerConfiguration `json:"dockerVolumeConfiguration,omitempty" level:"1"`
	EFS    *filesystem.EFSConfiguration    `json:"efsVolumeConfiguration,omitempty" level:"1"`
}

// HostVolume names the directory on the host.
type HostVolume struct {
	SourcePath string `json:"sourcePath,omitempty"`
}

// RuntimePlatform names the operating system and CPU the containers need ("LINUX", "X86_64" or "ARM64").
type RuntimePlatform struct {
	CPUArchitecture       string `json:"cpuArchitecture,omitempty"`
	OperatingSystemFamily string `json:"operatingSystemFamily,omitempty"`
}

// DaemonPrefix begins, in the state, the names of daemons and the families of their task definitions. They are spaces of their own: no name that
// somebody gives has a slash (ValidName), and api/ecs/arn, which reads all of them, makes one of a daemon only where a daemon is asked for.
const DaemonPrefix = "daemon/"

// IsOfDaemons reports whether a task definition, a family or "family:revision", is one that only daemons run.
func IsOfDaemons(definition string) bool { return strings.HasPrefix(definition, DaemonPrefix) }

// maxName bounds the length of names, as ECS does.
const maxName = 255

// ValidName reports whether a cluster, a family, a container, a volume or a capacity provider can have the name: 1 to 255 letters,
// digits, underscores and hyphens.
func ValidName(name string) bool {
	for _, c := range []byte(name) {
		if !(letterOrDigit(c) || c == '_' || c == '-') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= maxName
}

func letterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// maxHostName bounds the length of names, as DNS does.
const maxHostName = 253

// ValidHostName reports whether a host can have the name: 1 to 253 letters, digits, dots, underscores and hyphens, of which the first is a
// letter or a digit. Lists, reasons, metrics and command lines show it.
func ValidHostName(name string) bool {
	for i, c := range []byte(name) {
		if !letterOrDigit(c) && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= maxHostName
}
