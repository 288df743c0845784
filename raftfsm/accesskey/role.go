package accesskey

import "slices"

// Role is the set of rights of an access key. Each role may do what the ones before it may.
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

// HostRights are the rights of a host's own access key. A server holds every secret of the pool, so its root may do everything; root of an
// agent may look at the cluster whose tasks it runs.
func HostRights(server bool, cluster string) (role Role, boundTo string) {
	if server {
		return RoleAdmin, ""
	}
	return RoleRead, cluster
}
