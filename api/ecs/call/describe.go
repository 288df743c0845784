package call

import (
	"path"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// maxDescribed is how many parts of services and of daemons one request may describe, ECS's number.
const maxDescribed = 20

// Describe shows what the 1 to 20 items of a member name, in their order. What show does not find, or the caller's key may not know of, is a failure.
func Describe[T any](member string, items []string, show func(given string) (shown T, found bool)) (all []T, failures []types.Failure, err error) {
	if len(items) == 0 || len(items) > maxDescribed {
		return nil, nil, field.Errorf(member, "%s must have 1 to %d items, not %d.", member, maxDescribed, len(items))
	}
	all, failures = []T{}, []types.Failure{}
	for _, given := range items {
		if shown, found := show(given); found {
			all = append(all, shown)
			continue
		}
		failures = append(failures, types.Failure{ARN: given, Reason: spec.ReasonMissing})
	}
	return all, failures, nil
}

// PartOfService reads the ARN of a part of a service or of a daemon, such as a deployment: the service's cluster, its name in the state, and the id of
// the part. They are empty when it is none of the kind.
func PartOfService(kind, given string) (cluster, service, id string) {
	parsed, err := arn.ParseAny(given)
	if err != nil || parsed.Kind != kind {
		return "", "", ""
	}
	service, id = path.Split(parsed.Name)
	return parsed.Cluster, strings.TrimSuffix(service, "/"), id
}
