package spec

import "time"

// BuiltinCapacityProvider is the queue that every cluster has. It is no record, and can be neither changed nor deleted.
const BuiltinCapacityProvider = "PINION"

// CapacityProviderStatus is ECS's.
type CapacityProviderStatus string

// Statuses of a capacity provider; an INACTIVE one was deleted and is shown for a while.
const (
	CapacityProviderActive   CapacityProviderStatus = "ACTIVE"
	CapacityProviderInactive CapacityProviderStatus = "INACTIVE"
)

// CapacityProvider is a queue by ECS's name: tasks that are run through it wait until they have a place. What it says of a
// scaling group is echoed: the hosts of a pool are those that there are.
type CapacityProvider struct {
	Name        string                 `json:"name"`
	Status      CapacityProviderStatus `json:"status"`
	AutoScaling *AutoScalingProvider   `json:"autoScalingGroupProvider,omitempty"`
	Tags        []Tag                  `json:"tags,omitempty"`
	CreatedAt   time.Time              `json:"createdAt"`
	UpdatedAt   time.Time              `json:"updatedAt,omitzero"` // the last UpdateCapacityProvider
	DeletedAt   time.Time              `json:"deletedAt,omitzero"`
}

// AutoScalingProvider is ECS's autoScalingGroupProvider. The JSON names are ECS's.
type AutoScalingProvider struct {
	ARN                   string          `json:"autoScalingGroupArn"`
	ManagedScaling        *ManagedScaling `json:"managedScaling,omitempty"`
	TerminationProtection string          `json:"managedTerminationProtection,omitempty"` // ENABLED or DISABLED
	ManagedDraining       string          `json:"managedDraining,omitempty"`              // the same
}

// ManagedScaling is ECS's.
type ManagedScaling struct {
	Status         string `json:"status,omitempty"` // ENABLED or DISABLED
	TargetCapacity int    `json:"targetCapacity,omitempty"`
	MinStep        int    `json:"minimumScalingStepSize,omitempty"`
	MaxStep        int    `json:"maximumScalingStepSize,omitempty"`
	WarmupSeconds  *int   `json:"instanceWarmupPeriod,omitempty"`
}

// CapacityProviderStrategyItem is one line of a strategy. The first provider of a strategy that is not empty is the queue;
// base and weight are echoed, as every queue leads to the same hosts.
type CapacityProviderStrategyItem struct {
	CapacityProvider string `json:"capacityProvider"`
	Weight           int    `json:"weight,omitempty"` // 0 to 1000
	Base             int    `json:"base,omitempty"`   // 0 to 100000
}
