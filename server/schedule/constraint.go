package schedule

import (
	"fmt"
	"slices"

	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// expressions keeps the parsed constraints: each evaluation of a request asks for those that it has.
var expressions query.Cache

// parse parses the constraints of the definition and of the call, and the strategy. The api has validated them, so an error
// means that another version of Pinion registered the definition.
func (a *evaluation) parse(hosts []*Host) error {
	for _, c := range slices.Concat(modelConstraint(&a.Request), a.Definition.PlacementConstraints, a.Run.Constraints) {
		switch c.Type {
		case spec.DistinctInstance:
			a.distinct = true
		case spec.MemberOf:
			expression, err := expressions.Parse(c.Expression)
			if err != nil {
				return fmt.Errorf("placement constraint %q: %w", c.Expression, err)
			}
			if a.wantsGPUs && expression.ReadsGPUs() {
				a.gpuConstraints.expressions = append(a.gpuConstraints.expressions, expression)
			} else {
				a.constraints = append(a.constraints, expression)
			}
		default:
			return fmt.Errorf("placement constraint of type %q: this version of Pinion does not know it", c.Type)
		}
	}
	for _, s := range a.Run.Strategy {
		known := a.scorer(s, hosts)
		if known == nil {
			return fmt.Errorf("placement strategy %q of %q: this version of Pinion does not know it", s.Type, s.Field)
		}
		a.strategy = append(a.strategy, known)
	}
	return nil
}

// distinctInstance allows one task of the group on a host; running tasks and tasks of the current plan both count.
func distinctInstance(a *evaluation, h *Host) (reason, detail string) {
	if a.distinct && h.count(a.group) > 0 {
		return spec.ReasonDistinct, "the host has a task of group " + a.group
	}
	return "", ""
}

func memberOf(a *evaluation, h *Host) (reason, detail string) {
	for _, expression := range a.constraints {
		if facts := h.facts(expression, nil); !expression.Match(facts) {
			return spec.ReasonConstraint, expression.Why(facts)
		}
	}
	if a.gpuConstraints.refuse(h) {
		return a.gpuConstraints.refusal(), a.gpuConstraints.why(h)
	}
	return "", ""
}

// count returns the number of the host's tasks in the group.
func (h *Host) count(group string) int { return query.HostFacts{Tasks: h.tasks}.Count(group) }
