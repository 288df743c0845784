package accesskey

import (
	"slices"

	"pinion/raftfsm/spec"
)

// Rights are those of an access key: no key gives more.
type Rights struct {
	Role    Role   `json:"role"`
	Cluster string `json:"cluster,omitempty"` // as in an access key
	Grant   Grant  `json:"grant,omitzero"`
}

// Covers reports whether a key with these rights may do all that one with the others may. Who only reads has nothing that limits of tasks are about.
func (r Rights) Covers(other Rights) bool {
	mine, theirs := r.Grant, other.Grant
	return r.Role.May(other.Role) && hasAll(r.clusters(), other.clusters()) && hasAll(mine.Teams, theirs.Teams) &&
		atLeast(optional(mine.RequestsPerSecond), optional(theirs.RequestsPerSecond)) &&
		(other.Role == RoleRead || atLeast(mine.MaxPriority, theirs.MaxPriority) && atLeast(mine.MaxGPUs, theirs.MaxGPUs) &&
			atLeast(optional(mine.MaxTasks), optional(theirs.MaxTasks)) && atLeast(optional(mine.MaxWaiting), optional(theirs.MaxWaiting)) &&
			atLeast(optional(mine.MaxRevisions), optional(theirs.MaxRevisions)))
}

// hasAll compares two lists of which an empty one means everything.
func hasAll(mine, theirs []string) bool {
	return len(mine) == 0 || len(theirs) > 0 && !slices.ContainsFunc(theirs, func(name string) bool { return !slices.Contains(mine, name) })
}

// atLeast compares two limits of which nil is none.
func atLeast(mine, theirs *int) bool { return mine == nil || theirs != nil && *mine >= *theirs }

// optional is a limit of which zero means none.
func optional(limit int) *int {
	if limit == 0 {
		return nil
	}
	return &limit
}

func (r Rights) clusters() []string { return slices.Collect(spec.ClusterSet(r.Cluster).Names()) }
