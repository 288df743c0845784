package call

import (
	"slices"

	"pinion/api/ecs/servicedef"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/isolation"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// GrantedTags are the tags of tasks that the caller's key may run: with the key's team where they name none. A team or a priority that the
// key is not for is refused.
func GrantedTags(r *Request, given []spec.Tag) ([]spec.Tag, error) {
	options, _ := spec.ParseSchedulingOptions(given) // they were checked
	team, err := r.Grant.CheckTeam(options.Team)
	if err == nil {
		err = r.Grant.CheckPriority(options.Priority)
	}
	if err != nil {
		return nil, Denied(r, err)
	}
	if team == options.Team {
		return given, nil
	}
	return append(slices.Clone(given), spec.Tag{Key: spec.TagTeam, Value: team}), nil
}

// ServiceTags are the tags of a service, with the team of the caller's key where they name none. Tags that its tasks would have, and that the key
// may not give to tasks, are refused.
func ServiceTags(r *Request, given []spec.Tag) ([]spec.Tag, error) {
	ofTasks := servicedef.OfTasks(given)
	granted, err := GrantedTags(r, ofTasks)
	if err != nil || len(granted) == len(ofTasks) {
		return given, err
	}
	return append(slices.Clone(given), granted[len(ofTasks):]...), nil
}

// CheckPrivileges refuses to have tasks that an administrator's service vouches for do what only an administrator may ask for.
func CheckPrivileges(r *Request, s *service.Service, definition *spec.TaskDefinition) error {
	if !s.ByAdmin || r.Role == accesskey.RoleAdmin || !isolation.RequirementsOf(definition).NeedsAdmin() {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: an administrator created the %s, so that its tasks may have what only an administrator can ask for, and %s asks for that. Use a key of the role admin, or a service of your own.",
		r.Principal, s.Title(), definition.Name())
}

// Denied refuses a call because of what the caller's key is for.
func Denied(r *Request, why error) error {
	return wire.Errorf(wire.AccessDenied, "%s may not do this: %v.", r.Principal, why)
}
