package spec

import "time"

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

// QueueSpec has the conditions for the place of a task in the queue, beside those of its definition.
type QueueSpec struct {
	Constraints       []PlacementConstraint `json:"constraints,omitempty"`
	Strategy          []PlacementStrategy   `json:"strategy,omitempty"`
	NotBefore         time.Time             `json:"notBefore,omitzero"` // a task that is tried again waits that long
	UnmetDependencies []string              `json:"after,omitempty"`    // words of TagAfter that are still to come true
}

// GangMember is the place of a task in a gang: tasks of one run that start together, know of one another, and stop together.
type GangMember struct {
	ID   string `json:"id"`   // of the gang, 32 hex digits
	Rank int    `json:"rank"` // 0 to Size-1
	Size int    `json:"size"`
	Port int    `json:"port,omitempty"` // TCP, on the host of rank 0, which holds it; 0 while the gang waits
}

// Placement is the place of one task.
type Placement struct {
	TaskID string     `json:"taskId" compact:"own"`
	HostID string     `json:"hostId"`
	GPUs   [][]string `json:"gpus,omitempty"`  // UUIDs, by container; nil when none gets any
	Ports  []int      `json:"ports,omitempty"` // TCP ports that it holds besides those of its definition
	// GangPort is the port of its gang (Seat.Port).
	GangPort int `json:"gangPort,omitempty"`
	// Shares are those of its GPUs, by container; one without memory is none.
	Shares []GPUShare `json:"shares,omitempty" level:"1"`
	// MIGMilli is Container.MIGMilli, by container.
	MIGMilli []int `json:"migMilli,omitempty" level:"1"`
	// OverrideGPUs says that the numbers of GPUs are in place of those of the definition (TagGPUAlternatives).
	OverrideGPUs bool `json:"overrideGpus,omitempty" level:"1"`
}
