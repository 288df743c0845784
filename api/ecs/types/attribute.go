package types

// TargetedAttribute is ECS's Attribute with the resource that it belongs to.
type TargetedAttribute struct {
	Name       string `json:"name"`
	Value      string `json:"value,omitempty"`
	TargetType string `json:"targetType,omitempty"`
	TargetID   string `json:"targetId,omitempty"`
}
