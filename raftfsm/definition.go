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
	DefinitionInactive DefinitionStatus = "INACTIVE"           // deregistered: can be described, cannot be run
	DefinitionDeleting DefinitionStatus = "DELETE_IN_PROGRESS" // forgotten as soon as no task refers to it
)

// TaskDefinition is one immutable revision of a family: containers, images, resources. The JSON names are ECS's, so
// the stored document is the document that users see. It is stored normalised (see api/ecs): every container carries
// its defaults, GPU requirements are in ECS's own form. Only Status, its
// two times and Tags ever change.
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
}

// Name is "family:revision", the key of the definition.
func (d *TaskDefinition) Name() string { return fmt.Sprintf("%s:%d", d.Family, d.Revision) }

// Volume is a directory of the host, or scratch space of the task when it names no host path.
type Volume struct {
	Name string      `json:"name"`
	Host *HostVolume `json:"host,omitempty"`
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

// level is 3 for what older versions would not know how to run, or to decode.
func (c RegisterDefinition) level() int {
	for i := range c.Definition.Containers {
		if c.Definition.Containers[i].isNewer() {
			return 3
		}
	}
	return 1
}

func (c RegisterDefinition) apply(tx *tx) (any, error) {
	next := family{Name: c.Definition.Family, LastRevision: 1}
	if known := familiesByName.get(&tx.View, key{first: next.Name}); known != nil {
		next.LastRevision = known.LastRevision + 1
	}
	c.Definition.Revision, c.Definition.Status = next.LastRevision, DefinitionActive
	tx.put(tableFamilies, &next)
	tx.put(tableDefinitions, &c.Definition)
	return &c.Definition, nil
}

// DeregisterDefinition makes a revision INACTIVE; one that is not ACTIVE stays as it is. ErrNotFound.
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
	if known.Status != DefinitionActive {
		return known, nil
	}
	inactive := *known
	inactive.Status, inactive.DeregisteredAt = DefinitionInactive, c.At
	tx.put(tableDefinitions, &inactive)
	return &inactive, nil
}
