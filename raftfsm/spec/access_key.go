package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/iam"
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
	Cluster   string    `json:"cluster,omitempty"` // the only ones that it is for, as a ClusterSet; all when empty
	HostID    string    `json:"hostId,omitempty"`  // of a host's own key, which ends with the host; its rights follow HostRights
	CreatedAt time.Time `json:"createdAt"`
	Grant     KeyGrant  `json:"grant,omitzero" level:"1"`
	Login     *KeyLogin `json:"login,omitempty" level:"1"` // of a key that `pinion login` made; nil: it does not expire
	Name      string    `json:"name,omitempty" level:"1"`  // what it is for, in words of who made it; keys may have the same

	Assumed *iam.AssumedRole `json:"-"` // of a key that a task has by its role, which no record is of; nil: it is none
}

// KeyLogin says whose key it is that `pinion login` made, and until when.
type KeyLogin struct {
	Person  string    `json:"person"`  // the name that the issuer gives
	Subject string    `json:"subject"` // the issuer's id of the person
	Issuer  string    `json:"issuer"`
	Groups  []string  `json:"groups"` // that gave the key its rights
	Expires time.Time `json:"expires"`
}

// Expires is when the key is over; zero: never. Only that of a login or of a task's role ever is.
func (k *AccessKey) Expires() time.Time {
	switch {
	case k.Login != nil:
		return k.Login.Expires
	case k.Assumed != nil:
		return k.Assumed.Expires
	}
	return time.Time{}
}

// Expired reports whether the key is over.
func (k *AccessKey) Expired(now time.Time) bool {
	return !k.Expires().IsZero() && !now.Before(k.Expires())
}

// PersonHolder begins the holder of a person's keys.
const PersonHolder = "login/"

// Holder is whom the limits of the key count for: its person, who may have several keys one after another, its role, or the key itself.
func (k *AccessKey) Holder() string {
	switch {
	case k.Login != nil:
		return PersonHolder + k.Login.Person
	case k.Assumed != nil:
		return iam.RoleHolder + k.Assumed.Role
	}
	return k.ID
}

// ARN is that of the principal with the key.
func (k *AccessKey) ARN() string {
	if k.Assumed != nil {
		return k.Assumed.ARN()
	}
	return iam.HolderARN(k.Holder())
}

// KeyGrant bounds what an access key may do within its role and its clusters. What is zero or nil is not bounded.
type KeyGrant struct {
	Teams             []string `json:"teams,omitempty"`             // whose tasks it runs, stops and tags, and sees, and no others
	MaxPriority       *int     `json:"maxPriority,omitempty"`       // of the tasks that it runs
	MaxTasks          int      `json:"maxTasks,omitempty"`          // tasks that are not STOPPED, waiting ones included
	MaxWaiting        int      `json:"maxWaiting,omitempty"`        // tasks that wait for a place
	MaxGPUs           *int     `json:"maxGpus,omitempty"`           // GPUs that its tasks hold, or wait for
	MaxRevisions      int      `json:"maxRevisions,omitempty"`      // of task definitions, until they are deleted
	RequestsPerSecond int      `json:"requestsPerSecond,omitempty"` // at each server; twice as many may come at once
}

// LimitsTasks reports whether the key may have a limited number of tasks or GPUs.
func (g KeyGrant) LimitsTasks() bool { return g.MaxTasks > 0 || g.MaxWaiting > 0 || g.MaxGPUs != nil }

// CheckTeam returns the team that a task of this key counts for when it names this one: none stands for the key's only team. The error says
// what may be named.
func (g KeyGrant) CheckTeam(named string) (string, error) {
	switch {
	case len(g.Teams) == 0 || slices.Contains(g.Teams, named):
		return named, nil
	case named == "" && len(g.Teams) == 1:
		return g.Teams[0], nil
	case named == "":
		return "", fmt.Errorf("its key is for the teams %s: name one with the tag %s", strings.Join(g.Teams, ", "), TagTeam)
	}
	return "", fmt.Errorf("its key is for the team %s, not for %s", strings.Join(g.Teams, ", "), named)
}

// SeesTeam reports whether the key sees tasks of a team, those that have ended too.
func (g KeyGrant) SeesTeam(team string) bool {
	return len(g.Teams) == 0 || slices.Contains(g.Teams, team)
}

// CheckPriority refuses a priority above the highest that the key may use.
func (g KeyGrant) CheckPriority(priority int) error {
	if g.MaxPriority == nil || priority <= *g.MaxPriority {
		return nil
	}
	return fmt.Errorf("its key allows a priority of %d at most, and %s is %d", *g.MaxPriority, TagPriority, priority)
}

// HostRights are the rights of a host's own access key. A server holds every secret of the pool, so its root may do everything; root of an
// agent may look at the cluster whose tasks it runs.
func HostRights(server bool, cluster string) (role Role, boundTo string) {
	if server {
		return RoleAdmin, ""
	}
	return RoleRead, cluster
}

// SealingKey names the key that every secret in the state is to be sealed with. The key itself is on the disks of servers and never
// recorded.
type SealingKey struct {
	Name    string    `json:"name"`
	Since   time.Time `json:"since"`
	Retired []string  `json:"retired,omitempty"` // names of the keys before: servers remove them once nothing is sealed with them
}

// Retires reports whether the named key is one of those before.
func (k *SealingKey) Retires(name string) bool { return k != nil && slices.Contains(k.Retired, name) }
