package service

import (
	"strings"
	"time"

	"pinion/raftfsm/spec"
)

// DaemonGroupPrefix begins the groups of the tasks of daemons, which no other task can have.
const DaemonGroupPrefix = "daemon:"

// DefaultDrain is the part of its hosts, in thousandths, on which a daemon is replaced at a time where nobody says another one, ECS's.
const DefaultDrain = 250

// Tagging says where the tasks of a revision of a daemon get tags from. Of services Settings say it.
type Tagging struct {
	Propagate string `json:"propagate,omitempty"` // SERVICE: from the daemon; or NONE
	Managed   bool   `json:"managed,omitempty"`
}

// IsDaemon reports whether it is one of ECS's daemons: a service of the strategy DAEMON in a space of names of its own, which its users do not see
// among services.
func (s *Service) IsDaemon() bool { return strings.HasPrefix(s.Name, spec.DaemonPrefix) }

// Title returns the name for people: "service web", "daemon agent".
func (s *Service) Title() string {
	if name, ok := strings.CutPrefix(s.Name, spec.DaemonPrefix); ok {
		return "daemon " + name
	}
	return "service " + s.Name
}

// Group is the group of its tasks.
func (s *Service) Group() string {
	if name, ok := strings.CutPrefix(s.Name, spec.DaemonPrefix); ok {
		return DaemonGroupPrefix + name
	}
	return GroupPrefix + s.Name
}

// BakeTime returns the time that each task of a daemon has to run in a deployment before it counts as healthy, and others are replaced after it. Of
// services it is zero: BakeMinutes are of their traffic.
func (s *Service) BakeTime() time.Duration {
	if bake := s.Settings.Deployment.BakeMinutes; bake != nil && s.IsDaemon() {
		return time.Duration(*bake) * time.Minute
	}
	return 0
}

// IsCritical reports whether hosts of a daemon need it: they take no other tasks until it runs there, and lose those that they have when it fails.
func (r *Revision) IsCritical() bool { return r != nil && r.Critical }

// drained returns the number of tasks, of so many, that DrainPerMille replaces at a time, rounded down, and one at least.
func (c *DeploymentConfiguration) drained(desired int) int {
	return max(1, desired**c.DrainPerMille/1000)
}
