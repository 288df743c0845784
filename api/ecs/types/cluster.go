package types

// StrategyItem is ECS's CapacityProviderStrategyItem. All members are always shown.
type StrategyItem struct {
	CapacityProvider string `json:"capacityProvider"`
	Base             int    `json:"base"`
	Weight           int    `json:"weight"`
}

// ServiceConnectDefaults is ECS's ClusterServiceConnectDefaults: the namespace of the services of a cluster.
type ServiceConnectDefaults struct {
	Namespace string `json:"namespace"`
}
