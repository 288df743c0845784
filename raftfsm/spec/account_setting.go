package spec

// AccountSetting is one of ECS's account settings, as somebody chose it. Those that nobody chose have defaults, which are
// not stored.
type AccountSetting struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Principal string `json:"principal,omitempty"` // ARN of whom it is for; empty: everybody who chose nothing
}
