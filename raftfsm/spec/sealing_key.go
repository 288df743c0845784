package spec

import (
	"slices"
	"time"
)

// SealingKey names the key that every secret in the state is to be sealed with. The key itself is on the disks of servers and never
// recorded.
type SealingKey struct {
	Name    string    `json:"name"`
	Since   time.Time `json:"since"`
	Retired []string  `json:"retired,omitempty"` // names of the keys before: servers remove them once nothing is sealed with them
}

// Retires reports whether the named key is one of those before.
func (k *SealingKey) Retires(name string) bool { return k != nil && slices.Contains(k.Retired, name) }
