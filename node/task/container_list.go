package task

import (
	"slices"
	"time"
)

// containerList is the containers of one task, in the definition's order.
type containerList []*Container

// named finds a container by its name in the definition; nil when there is none.
func (l containerList) named(name string) *Container {
	at := slices.IndexFunc(l, func(c *Container) bool { return c.Def.Name == name })
	if at < 0 {
		return nil
	}
	return l[at]
}

func (l containerList) allExited() bool {
	return !slices.ContainsFunc(l, func(c *Container) bool { return !c.exited.happened() })
}

// lastStart is when the last container started: a moment ago, or before a restart of the agent if all were found.
func (l containerList) lastStart() time.Time {
	var last time.Time
	for _, c := range l {
		if c.existing == nil || c.existing.StartedAt.IsZero() {
			return utcNow()
		}
		if c.existing.StartedAt.After(last) {
			last = c.existing.StartedAt
		}
	}
	return last.UTC()
}
