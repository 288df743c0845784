package spec

import (
	"slices"
	"time"
)

// Role is what an access key may do. Each role may do what the ones before it may.
type Role string

// The roles, the least first.
const (
	RoleRead   Role = "read"   // look
	RoleSubmit Role = "submit" // run and stop tasks, and register what they are made of
	RoleAdmin  Role = "admin"  // everything: clusters, hosts, keys
)

// Roles lists the roles, the least first.
var Roles = []Role{RoleRead, RoleSubmit, RoleAdmin}

// May says whether a key with this role may do what is for the needed one. What is not a role may do nothing.
func (r Role) May(needed Role) bool {
	return slices.Contains(Roles, r) && slices.Index(Roles, r) >= slices.Index(Roles, needed)
}

// AccessKey lets a client sign requests (SigV4). A server needs the secret itself to check a signature, so the secret is sealed, not hashed:
// with a key that servers keep on their disks and that never enters the state.
type AccessKey struct {
	ID        string    `json:"id"`               // "AKIA" + 16 upper-case letters and digits
	Secret    string    `json:"secret,omitempty"` // in clear, for the caller that made the key; never recorded by a server, never logged
	Sealed    []byte    `json:"sealed,omitempty"` // the secret, as whoever holds the sealing key can read it
	Seal      string    `json:"seal,omitempty"`   // which sealing key that is
	Role      Role      `json:"role"`
	Cluster   string    `json:"cluster,omitempty"` // the only one that it is for; all when empty
	Hosts     bool      `json:"hosts,omitempty"`   // the pool's own: what every host gives its administrators
	CreatedAt time.Time `json:"createdAt"`
}
