package accesskey

import (
	"fmt"
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

// Grant bounds what an access key may do within its role and its clusters. What is zero or nil is not bounded.
type Grant struct {
	Teams             []string `json:"teams,omitempty"`             // whose tasks it runs, stops and tags, and sees, and no others
	MaxPriority       *int     `json:"maxPriority,omitempty"`       // of the tasks that it runs
	MaxTasks          int      `json:"maxTasks,omitempty"`          // tasks that are not STOPPED, waiting ones included
	MaxWaiting        int      `json:"maxWaiting,omitempty"`        // tasks that wait for a place
	MaxGPUs           *int     `json:"maxGpus,omitempty"`           // GPUs that its tasks hold, or wait for
	MaxRevisions      int      `json:"maxRevisions,omitempty"`      // of task definitions, until they are deleted
	RequestsPerSecond int      `json:"requestsPerSecond,omitempty"` // at each server; twice as many may come at once
}

// LimitsTasks reports whether the key may have a limited number of tasks or GPUs.
func (g Grant) LimitsTasks() bool { return g.MaxTasks > 0 || g.MaxWaiting > 0 || g.MaxGPUs != nil }

// CheckTeam returns the team that a task of this key counts for when it names this one: none stands for the key's only team. The error says
// what may be named.
func (g Grant) CheckTeam(named string) (string, error) {
	switch {
	case len(g.Teams) == 0 || slices.Contains(g.Teams, named):
		return named, nil
	case named == "" && len(g.Teams) == 1:
		return g.Teams[0], nil
	case named == "":
		return "", fmt.Errorf("its key is for the teams %s: name one with the tag %s", strings.Join(g.Teams, ", "), spec.TagTeam)
	}
	return "", fmt.Errorf("its key is for the team %s, not for %s", strings.Join(g.Teams, ", "), named)
}

// SeesTeam reports whether the key sees tasks of a team, those that have ended too.
func (g Grant) SeesTeam(team string) bool {
	return len(g.Teams) == 0 || slices.Contains(g.Teams, team)
}

// CheckPriority refuses a priority above the highest that the key may use.
func (g Grant) CheckPriority(priority int) error {
	if g.MaxPriority == nil || priority <= *g.MaxPriority {
		return nil
	}
	return fmt.Errorf("its key allows a priority of %d at most, and %s is %d", *g.MaxPriority, spec.TagPriority, priority)
}
