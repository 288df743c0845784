package scaling

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// MaxSteps bounds the step adjustments of a policy: AWS's bound.
const MaxSteps = 20

// Adjustment types, verbatim from AWS: what the number of a step means.
const (
	ChangeInCapacity        = "ChangeInCapacity"
	PercentChangeInCapacity = "PercentChangeInCapacity"
	ExactCapacity           = "ExactCapacity"
)

// Aggregation types, verbatim from AWS: which value of the last period decides on the step.
const (
	AggregateAverage = "Average"
	AggregateMinimum = "Minimum"
	AggregateMaximum = "Maximum"
)

// Stepping changes the number of tasks, when an alarm says so, by how far the metric is from the alarm's threshold.
type Stepping struct {
	Adjustment   string           `json:"adjustment"`
	Steps        []StepAdjustment `json:"steps"`
	MinMagnitude int              `json:"minMagnitude,omitempty"` // the least change of PercentChangeInCapacity, in tasks
	CooldownTime *int             `json:"cooldown,omitempty"`     // seconds
	Aggregation  string           `json:"aggregation,omitempty"`  // empty: Average
}

// StepAdjustment is the adjustment between two distances from the threshold; empty ones are without end.
type StepAdjustment struct {
	Lower Number `json:"lower,omitempty"`
	Upper Number `json:"upper,omitempty"`
	By    int    `json:"by"`
}

// Cooldown returns the time for which one step keeps the next.
func (s *Stepping) Cooldown() time.Duration { return cooldown(s.CooldownTime) }

func (s StepAdjustment) lower() float64 {
	if s.Lower == "" {
		return math.Inf(-1)
	}
	return s.Lower.Float()
}

func (s StepAdjustment) upper() float64 {
	if s.Upper == "" {
		return math.Inf(1)
	}
	return s.Upper.Float()
}

// includes reports whether a distance from the threshold is within the step. Above it the lower bound belongs to the step, below it the upper
// one; above says which of both the threshold itself counts for.
func (s StepAdjustment) includes(distance float64, above bool) bool {
	if distance > 0 || distance == 0 && above {
		return s.lower() <= distance && distance < s.upper()
	}
	return s.lower() < distance && distance <= s.upper()
}

// Capacity returns the number of tasks that the step for a distance from the threshold makes of so many; ok when there is a step for it.
func (s *Stepping) Capacity(from int, distance float64, above bool) (to int, step StepAdjustment, ok bool) {
	i := slices.IndexFunc(s.Steps, func(a StepAdjustment) bool { return a.includes(distance, above) })
	if i < 0 {
		return 0, StepAdjustment{}, false
	}
	step = s.Steps[i]
	change := step.By
	switch s.Adjustment {
	case ExactCapacity:
		return step.By, step, true
	case PercentChangeInCapacity:
		change = s.percent(from, step.By)
	}
	return max(0, from+change), step, true
}

// percent is so many percent of the tasks, rounded towards 0, but not to 0.
func (s *Stepping) percent(from, by int) int {
	least := max(s.MinMagnitude, 1)
	switch change := from * by / 100; {
	case by > 0:
		return max(change, least)
	case by < 0:
		return min(change, -least)
	}
	return 0
}

// Check says what is wrong with the policy by AWS's rules.
func (s *Stepping) Check() error {
	if !slices.Contains([]string{ChangeInCapacity, PercentChangeInCapacity, ExactCapacity}, s.Adjustment) {
		return fmt.Errorf("AdjustmentType must be %s, %s or %s, not %q", ChangeInCapacity, PercentChangeInCapacity, ExactCapacity, s.Adjustment)
	}
	if !slices.Contains([]string{"", AggregateAverage, AggregateMinimum, AggregateMaximum}, s.Aggregation) {
		return fmt.Errorf("MetricAggregationType must be %s, %s or %s, not %q", AggregateAverage, AggregateMinimum, AggregateMaximum, s.Aggregation)
	}
	if n := len(s.Steps); n == 0 || n > MaxSteps {
		return fmt.Errorf("StepAdjustments must be 1 to %d, not %d", MaxSteps, n)
	}
	if s.MinMagnitude < 0 || s.MinMagnitude > 0 && s.Adjustment != PercentChangeInCapacity {
		return fmt.Errorf("MinAdjustmentMagnitude must be more than 0, and is of %s only", PercentChangeInCapacity)
	}
	for _, step := range s.Steps {
		switch {
		case step.Lower == "" && step.Upper == "":
			return errors.New("MetricIntervalLowerBound and MetricIntervalUpperBound cannot both be left out of one step adjustment")
		case step.lower() >= step.upper():
			return fmt.Errorf("MetricIntervalUpperBound must be more than MetricIntervalLowerBound, not %s and %s", step.Upper, step.Lower)
		case s.Adjustment == ExactCapacity && step.By < 0:
			return fmt.Errorf("ScalingAdjustment of %s must not be negative, as %d is", ExactCapacity, step.By)
		}
	}
	return s.checkBounds()
}

// checkBounds refuses steps that overlap or leave something between them or beyond them.
func (s *Stepping) checkBounds() error {
	sorted := slices.Clone(s.Steps)
	slices.SortFunc(sorted, func(a, b StepAdjustment) int {
		switch {
		case a.lower() < b.lower():
			return -1
		case a.lower() > b.lower():
			return 1
		}
		return 0
	})
	for i, step := range sorted[1:] {
		switch before := sorted[i]; {
		case before.upper() > step.lower():
			return errors.New("StepAdjustments must not overlap: at most one can be without MetricIntervalLowerBound, at most one without MetricIntervalUpperBound, and each of the others begins where one ends")
		case before.upper() < step.lower():
			return fmt.Errorf("StepAdjustments must not have a gap, such as from %s to %s", before.Upper, step.Lower)
		}
	}
	if first := sorted[0]; first.lower() < 0 && first.Lower != "" {
		return fmt.Errorf("MetricIntervalLowerBound %s is negative: one step adjustment has to be without it, for all that is below", first.Lower)
	}
	if last := sorted[len(sorted)-1]; last.upper() > 0 && last.Upper != "" {
		return fmt.Errorf("MetricIntervalUpperBound %s is positive: one step adjustment has to be without it, for all that is above", last.Upper)
	}
	return nil
}
