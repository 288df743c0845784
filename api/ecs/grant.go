package ecs

import (
	"slices"

	"pinion/api/ecs/call"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// checkTeamOf refuses a change of a task that counts for a team which the caller's key is not for.
func checkTeamOf(r *Request, task *spec.Task) error {
	if team := task.SchedulingOptions().Team; len(r.Grant.Teams) > 0 && !slices.Contains(r.Grant.Teams, team) {
		return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the tasks of %v alone, and task %s counts for %q.", r.Principal, r.Grant.Teams, task.ID, team)
	}
	return nil
}

// checkTagsOf refuses a change of a task's tags that would give it a team or a priority which the caller's key is not for.
func checkTagsOf(r *Request, task *spec.Task, put []spec.Tag, remove []string) error {
	if err := checkTeamOf(r, task); err != nil {
		return err
	}
	changed := *task
	changed.Tags = slices.DeleteFunc(slices.Clone(task.Tags), func(t spec.Tag) bool {
		return slices.Contains(remove, t.Key) || slices.ContainsFunc(put, func(p spec.Tag) bool { return p.Key == t.Key })
	})
	changed.Tags = append(changed.Tags, put...)
	if err := checkTeamOf(r, &changed); err != nil {
		return err
	}
	if err := checkIdleTimeoutOf(task, &changed); err != nil {
		return err
	}
	if before, after := task.SchedulingOptions().Priority, changed.SchedulingOptions().Priority; after != before {
		if err := r.Grant.CheckPriority(after); err != nil {
			return call.Denied(r, err)
		}
	}
	return nil
}
