package autoscaling

import (
	"slices"

	"pinion/raftfsm/alarm"
	"pinion/raftfsm/scaling"
)

type stepAdjustment struct {
	Lower      *float64 `json:"MetricIntervalLowerBound,omitempty"`
	Upper      *float64 `json:"MetricIntervalUpperBound,omitempty"`
	Adjustment *int     `json:"ScalingAdjustment"`
}

type stepConfiguration struct {
	AdjustmentType         string           `json:"AdjustmentType"`
	StepAdjustments        []stepAdjustment `json:"StepAdjustments"`
	MinAdjustmentMagnitude *int             `json:"MinAdjustmentMagnitude,omitempty"`
	Cooldown               *int             `json:"Cooldown,omitempty"`
	MetricAggregationType  string           `json:"MetricAggregationType,omitempty"`
}

// parse checks a configuration.
func (c *stepConfiguration) parse() (*scaling.Stepping, error) {
	s := &scaling.Stepping{Adjustment: c.AdjustmentType, CooldownTime: c.Cooldown, Aggregation: c.MetricAggregationType}
	if c.Cooldown != nil && (*c.Cooldown < 0 || *c.Cooldown > maxCooldown) {
		return nil, errInvalid("Cooldown must be 0 to %d seconds, not %d", maxCooldown, *c.Cooldown)
	}
	if c.MinAdjustmentMagnitude != nil {
		if s.MinMagnitude = *c.MinAdjustmentMagnitude; s.MinMagnitude == 0 {
			return nil, errInvalid("MinAdjustmentMagnitude must be more than 0")
		}
	}
	for _, given := range c.StepAdjustments {
		if given.Adjustment == nil {
			return nil, errInvalid("ScalingAdjustment must be given in each step adjustment")
		}
		s.Steps = append(s.Steps, scaling.StepAdjustment{Lower: bound(given.Lower), Upper: bound(given.Upper), By: *given.Adjustment})
	}
	if err := s.Check(); err != nil {
		return nil, errInvalid("%v", err)
	}
	return s, nil
}

// bound is a bound as the state has it.
func bound(given *float64) scaling.Number {
	if given == nil {
		return ""
	}
	return scaling.NumberOf(*given)
}

func describeStep(s *scaling.Stepping) *stepConfiguration {
	c := &stepConfiguration{AdjustmentType: s.Adjustment, Cooldown: s.CooldownTime, MetricAggregationType: s.Aggregation}
	if s.MinMagnitude > 0 {
		c.MinAdjustmentMagnitude = &s.MinMagnitude
	}
	for _, step := range s.Steps {
		c.StepAdjustments = append(c.StepAdjustments, stepAdjustment{number(step.Lower), number(step.Upper), &step.By})
	}
	return c
}

// number is a bound as clients see it.
func number(n scaling.Number) *float64 {
	if n == "" {
		return nil
	}
	f := n.Float()
	return &f
}

// alarms are those that start policies, by the ids of these, of those that the caller may know of.
func (r *Request) alarms() map[string][]namedAlarm {
	found := map[string][]namedAlarm{}
	for _, a := range alarm.All(r.View) {
		if s := r.View.Service(a.Cluster, a.Service); s == nil || !r.Principal.SeesService(s) {
			continue
		}
		for _, arn := range a.Actions.All() {
			named := namedAlarm{a.Name, a.ARN(r.Principal.Region)}
			if policy, ok := scaling.ParsePolicyARN(arn); ok && !slices.Contains(found[policy.ID], named) {
				found[policy.ID] = append(found[policy.ID], named)
			}
		}
	}
	return found
}
