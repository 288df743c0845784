package traffic

import (
	"cmp"
	"slices"
	"time"
)

// TargetHealth is the health of one of its targets as a task's host found it: a container port of the task in a target group. A target of which there is
// none is not known yet.
type TargetHealth struct {
	Group     string      `json:"group"` // Group.ID
	Container string      `json:"container"`
	Port      int         `json:"port"`             // of the container
	State     TargetState `json:"state"`            // Healthy or Unhealthy
	Reason    string      `json:"reason,omitempty"` // why it is unhealthy: ELB's code, as Target.Timeout
	Detail    string      `json:"detail,omitempty"` // the same in words
	Since     time.Time   `json:"since"`            // by the clock of the leader, which writes it
}

// FindHealth returns the known health of a target; nil: nothing yet.
func FindHealth(known []TargetHealth, group, container string, port int) *TargetHealth {
	wanted := TargetHealth{Group: group, Container: container, Port: port}
	if i := slices.IndexFunc(known, func(h TargetHealth) bool { return h.compare(wanted) == 0 }); i >= 0 {
		return &known[i]
	}
	return nil
}

// MergeHealth returns the known health of targets after a report, in an order that does not depend on when they were reported.
func MergeHealth(known, reported []TargetHealth) []TargetHealth {
	if len(reported) == 0 {
		return known
	}
	merged := slices.DeleteFunc(slices.Clone(known), func(h TargetHealth) bool {
		return FindHealth(reported, h.Group, h.Container, h.Port) != nil
	})
	merged = append(merged, reported...)
	slices.SortFunc(merged, TargetHealth.compare)
	return merged
}

// compare compares what two are about.
func (h TargetHealth) compare(other TargetHealth) int {
	return cmp.Or(cmp.Compare(h.Group, other.Group), cmp.Compare(h.Container, other.Container), cmp.Compare(h.Port, other.Port))
}
