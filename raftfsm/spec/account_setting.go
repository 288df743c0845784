package spec

// AccountSetting is an account setting of ECS that was set. Settings that were never set have defaults, which are not stored.
type AccountSetting struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Principal string `json:"principal,omitempty"` // ARN of whom it is for; empty: everybody who chose nothing
}
