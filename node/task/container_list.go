package task

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
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

// lastStart is the start of the last container: a moment ago, or before a restart of the agent if all were found.
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

// mountPoints are the container's own, and those of its volumesFrom, which are read-only if it asks for that.
func (l containerList) mountPoints(def *spec.ContainerDefinition) []spec.MountPoint {
	mounts := slices.Clone(def.MountPoints)
	for _, from := range def.VolumesFrom {
		if source := l.named(from.SourceContainer); source != nil {
			for _, m := range source.Def.MountPoints {
				m.ReadOnly = m.ReadOnly || from.ReadOnly
				mounts = append(mounts, m)
			}
		}
	}
	return mounts
}

// gpus are the UUIDs of the GPUs that the containers have, or have shares of.
func (l containerList) gpus() (uuids []string) {
	for _, c := range l {
		uuids = append(uuids, c.GPUs...)
	}
	return uuids
}
