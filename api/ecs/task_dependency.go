package ecs

import (
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// checkTaskDependencies refuses to wait for what is not there, which could never come true, or would have come true already.
func (c *Request) checkTaskDependencies(r *spec.RunRequest) error {
	terms, _ := spec.ParseSchedulingOptions(r.Tags)
	for _, after := range terms.Dependencies {
		switch {
		case after.Group == "" && c.View.Task(after.Task) == nil:
			return wire.Errorf(wire.InvalidParameter, "The tag %s names task %s, which is not known: there was none of that id within the last hour.", spec.TagAfter, after.Task)
		case after.Group != "" && after.Group == r.Group:
			return wire.Errorf(wire.InvalidParameter, "The tag %s names group %s, which is the group of the tasks themselves.", spec.TagAfter, after.Group)
		case after.Group != "" && !c.hasGroup(r.Cluster, after.Group):
			return wire.Errorf(wire.InvalidParameter, "The tag %s names group %s, of which cluster %s has no task.", spec.TagAfter, after.Group, r.Cluster)
		}
	}
	return nil
}

func (c *Request) hasGroup(cluster, group string) bool {
	for t := range c.View.TasksAfter(cluster, "") {
		if t.Group == group {
			return true
		}
	}
	return false
}
